/* The C interface: `check rules`, `check updates COUNT PRESET`, `check threads COUNT PRESET`. */
#include <kcf_track.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 160
#define HEIGHT 120
#define STRIDE 176
#define THREADS 8

static const char *preset;
static long count;

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "line %d: %s; kcf_error: %s\n", __LINE__, #condition, kcf_error());  \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

static unsigned noise(unsigned x, unsigned y) {
    unsigned n = x * 374761393u + y * 668265263u;
    n = (n ^ (n >> 13)) * 1274126177u;
    return n ^ (n >> 16);
}

/* A bright patch that moves around on a dim ground. */
static kcf_frame draw(unsigned char *pixels, long number, kcf_box *truth) {
    int left = 60 + (int)lround(30 * sin(number * 0.05)), top = 45 + (int)lround(20 * cos(number * 0.05));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int inside = x >= left && x < left + 32 && y >= top && y < top + 32;
            pixels[y * STRIDE + x] =
                inside ? 60 + noise((x - left) / 4, (y - top) / 4) % 190 : noise(x / 3 + 100, y / 3) % 60;
        }
    *truth = (kcf_box){left, top, 32, 32};
    return (kcf_frame){pixels, WIDTH, HEIGHT, STRIDE, KCF_GRAY8};
}

static void *follow(void *alone) {
    unsigned char *pixels = malloc(STRIDE * HEIGHT);
    kcf_box box;
    kcf_frame frame = draw(pixels, 0, &box);
    kcf_tracker *tracker = kcf_create(preset);
    CHECK(tracker);
    CHECK(kcf_init(tracker, &frame, box, NULL) == KCF_STATUS_OK);
    size_t before = 0;
    for (long number = 1; number <= count; number++) {
        kcf_estimate found;
        frame = draw(pixels, number, &box);
        CHECK(kcf_update(tracker, &frame, &found) == KCF_STATUS_OK);
        CHECK(fabs(found.bbox.x + found.bbox.w / 2 - box.x - 16) < 6 && found.state == KCF_STATE_TRACKING);
        /* Every update that fails has its text. */
        frame.height--;
        if (number % 100 == 0) CHECK(kcf_update(tracker, &frame, &found) == KCF_STATUS_FRAME);
        if (number == count / 10) before = mallinfo2().uordblks;
    }
    long grown = mallinfo2().uordblks - before;
    if (alone) CHECK(printf("%ld updates of %s: %+ld bytes\n", count, preset, grown) && grown < 64);
    kcf_free(&tracker);
    free(pixels);
    return NULL;
}

/* The corners are those of the box, clockwise from the upper left one. */
static int has_corners_of_its_box(const kcf_estimate *found) {
    double left = found->bbox.x, top = found->bbox.y, right = left + found->bbox.w, bottom = top + found->bbox.h;
    double corners[8] = {left, top, right, top, right, bottom, left, bottom};
    return !memcmp(found->corners, corners, sizeof corners);
}

/* A picture whose channels differ gives one box in any order of them. */
static void channels(void) {
    static const struct {
        int format, bytes, red, blue;
    } orders[] = {{KCF_RGB8, 3, 0, 2}, {KCF_BGR8, 3, 2, 0}, {KCF_RGBA8, 4, 0, 2}, {KCF_BGRA8, 4, 2, 0}};
    static unsigned char gray[STRIDE * HEIGHT], pixels[STRIDE * HEIGHT * 4];
    kcf_estimate found[4];
    for (int order = 0; order < 4; order++) {
        kcf_tracker *tracker = kcf_create("fast");
        for (long number = 0; number < 4; number++) {
            kcf_box box;
            draw(gray, number * 2, &box);
            for (int i = 0; i < STRIDE * HEIGHT; i++) {
                unsigned char *pixel = pixels + i * orders[order].bytes;
                pixel[orders[order].red] = gray[i];
                pixel[1] = gray[i] / 2;
                pixel[orders[order].blue] = 255 - gray[i];
                if (orders[order].bytes == 4) pixel[3] = noise(i, order);
            }
            kcf_frame frame = {pixels, WIDTH, HEIGHT, STRIDE * orders[order].bytes, orders[order].format};
            CHECK((number ? kcf_update(tracker, &frame, &found[order])
                          : kcf_init(tracker, &frame, box, &found[order])) == KCF_STATUS_OK);
        }
        CHECK(!memcmp(&found[order].bbox, &found[0].bbox, sizeof found[0].bbox) && found[order].psr == found[0].psr);
        CHECK(found[order].state == KCF_STATE_TRACKING);
        kcf_free(&tracker);
    }
}

static void rules(void) {
    unsigned char pixels[STRIDE * HEIGHT];
    kcf_box box;
    kcf_frame good = draw(pixels, 0, &box);
    kcf_estimate found;
    kcf_tracker *tracker = NULL;

    CHECK(!kcf_create(NULL) && strstr(kcf_error(), "preset: the pointer is null"));
    CHECK(!kcf_create("\xff") && strstr(kcf_error(), "UTF-8"));
    CHECK(!kcf_create("swift") && strstr(kcf_error(), "robust"));
    CHECK(kcf_init(NULL, &good, box, NULL) == KCF_STATUS_ARGUMENT);
    tracker = kcf_create("paper");
    CHECK(tracker && !*kcf_error());

    CHECK(kcf_set(tracker, "search.filter.padding", "2.0") == KCF_STATUS_OK);
    CHECK(kcf_set(tracker, "search.filter.padding", "-1") == KCF_STATUS_SETTING && strstr(kcf_error(), "padding"));
    CHECK(kcf_set(tracker, "no.such.path", "1") == KCF_STATUS_SETTING && strstr(kcf_error(), "no.such.path"));
    CHECK(kcf_set(tracker, NULL, "1") == KCF_STATUS_ARGUMENT);
    CHECK(kcf_set(tracker, "search.filter.padding", NULL) == KCF_STATUS_ARGUMENT);

    CHECK(kcf_update(tracker, &good, &found) == KCF_STATUS_NOT_INITIALIZED && strstr(kcf_error(), "init"));
    CHECK(kcf_init(tracker, NULL, box, NULL) == KCF_STATUS_ARGUMENT);
    CHECK(kcf_init(tracker, (kcf_frame *)((char *)&good + 1), box, NULL) == KCF_STATUS_ARGUMENT);
    kcf_box boxes[] = {{NAN, 0, 9, 9}, {0, 0, 0, 0}, {500, 500, 9, 9}, {0, 0, INFINITY, 9}, {1, 1, -9, 9}};
    for (int i = 0; i < 5; i++) CHECK(kcf_init(tracker, &good, boxes[i], &found) == KCF_STATUS_BOX && *kcf_error());
    CHECK(kcf_init(tracker, &good, box, (kcf_estimate *)((char *)&found + 1)) == KCF_STATUS_ARGUMENT);
    CHECK(kcf_init(tracker, &good, box, &found) == KCF_STATUS_OK);
    CHECK(found.bbox.x == box.x && has_corners_of_its_box(&found) && found.psr > 5 && isnan(found.confidence));
    /* A box that is refused leaves the target that there is, and a setting counts from the next one on. */
    CHECK(kcf_init(tracker, &good, boxes[0], NULL) == KCF_STATUS_BOX);
    CHECK(kcf_update(tracker, &good, &found) == KCF_STATUS_OK);
    float psr = found.psr;
    CHECK(kcf_set(tracker, "search.filter.padding", "1.0") == KCF_STATUS_OK);
    CHECK(kcf_init(tracker, &good, box, NULL) == KCF_STATUS_OK && kcf_update(tracker, &good, &found) == KCF_STATUS_OK);
    CHECK(found.psr != psr);

    kcf_frame frames[] = {
        {pixels, 0, HEIGHT, STRIDE, KCF_GRAY8},          {pixels, WIDTH, 0, STRIDE, KCF_GRAY8},
        {pixels, WIDTH, HEIGHT, 0, KCF_GRAY8},           {pixels, WIDTH, HEIGHT, WIDTH - 1, KCF_GRAY8},
        {pixels, WIDTH, HEIGHT, STRIDE, KCF_RGB8},       {pixels, WIDTH, HEIGHT, STRIDE, 99},
        {pixels, SIZE_MAX, HEIGHT, STRIDE, KCF_BGRA8},   {pixels, WIDTH, SIZE_MAX, STRIDE, KCF_GRAY8},
        {pixels, WIDTH, HEIGHT, SIZE_MAX, KCF_GRAY8},    {pixels, 3, SIZE_MAX / 8, 4, KCF_GRAY8},
        {pixels, WIDTH - 2, HEIGHT, STRIDE, KCF_GRAY8},
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        CHECK(kcf_update(tracker, &frames[i], &found) == KCF_STATUS_FRAME && strstr(kcf_error(), "frame"));
    kcf_frame none = {NULL, WIDTH, HEIGHT, STRIDE, KCF_GRAY8};
    CHECK(kcf_update(tracker, &none, &found) == KCF_STATUS_ARGUMENT && strstr(kcf_error(), "frame.pixels"));
    CHECK(kcf_update(tracker, &good, NULL) == KCF_STATUS_ARGUMENT);

    CHECK(kcf_adjust(NULL, box, 1, NULL) == KCF_STATUS_ARGUMENT);
    CHECK(kcf_adjust(tracker, boxes[0], 1, &found) == KCF_STATUS_BOX && kcf_adjust(tracker, box, -1, NULL) == KCF_STATUS_BOX);

    /* None of that has changed the tracker. */
    CHECK(kcf_update(tracker, &good, &found) == KCF_STATUS_OK && !*kcf_error());
    CHECK(fabs(found.bbox.x - box.x) < 2 && has_corners_of_its_box(&found) && found.state == KCF_STATE_TRACKING);
    /* A correction stays. */
    kcf_box moved = {box.x + 4, box.y, box.w, box.h};
    CHECK(kcf_adjust(tracker, moved, 0, &found) == KCF_STATUS_OK && fabs(found.bbox.x - moved.x) < 1e-9);
    CHECK(kcf_update(tracker, &good, &found) == KCF_STATUS_OK && fabs(found.bbox.x - moved.x) < 2);
    memset(pixels, 90, sizeof pixels);
    CHECK(kcf_update(tracker, &good, &found) == KCF_STATUS_OK && found.state == KCF_STATE_LOST);

    kcf_free(&tracker);
    CHECK(!tracker);
    kcf_free(&tracker);
    kcf_free(NULL);
    CHECK(kcf_update(tracker, &good, &found) == KCF_STATUS_ARGUMENT && strstr(kcf_error(), "tracker"));
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "rules")) return rules(), channels(), 0;
    if (argc != 4) return fprintf(stderr, "usage: check rules | updates COUNT PRESET | threads COUNT PRESET\n"), 2;
    count = atol(argv[2]), preset = argv[3];
    if (!strcmp(argv[1], "updates")) return follow(argv), 0;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, follow, NULL));
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
}
