/* Follow targets through the frames that ffmpeg pipes:
 *
 *     ffmpeg -v error -i clip.mp4 -f image2pipe -c:v ppm - | ./track fast 197,213,34,81 20,30,40,50
 *
 * A line is "frame target x,y,w,h state". */
#include <kcf_track.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what) {
    fprintf(stderr, "track: %s: %s\n", what, kcf_error());
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: track PRESET X,Y,W,H...\n"), 2;
    int targets = argc - 2;
    kcf_tracker **trackers = calloc(targets, sizeof *trackers);
    unsigned char *pixels = NULL;
    size_t width, height;
    for (int number = 1; scanf("P6 %zu %zu 255", &width, &height) == 2 && getchar() != EOF; number++) {
        pixels = realloc(pixels, width * height * 3);
        if (!pixels || fread(pixels, 3, width * height, stdin) < width * height) break;
        kcf_frame frame = {pixels, width, height, width * 3, KCF_RGB8};
        for (int i = 0; i < targets; i++) {
            if (number == 1) {
                kcf_box box;
                if (sscanf(argv[i + 2], "%lf,%lf,%lf,%lf", &box.x, &box.y, &box.w, &box.h) != 4) return 2;
                if (!(trackers[i] = kcf_create(argv[1]))) return fail(argv[1]);
                if (kcf_init(trackers[i], &frame, box, NULL)) return fail(argv[i + 2]);
            } else {
                kcf_estimate found;
                if (kcf_update(trackers[i], &frame, &found)) return fail("update");
                kcf_box box = found.bbox;
                printf("%d %d %.4f,%.4f,%.4f,%.4f %d\n", number, i, box.x, box.y, box.w, box.h, found.state);
            }
        }
    }
    for (int i = 0; i < targets; i++) kcf_free(&trackers[i]);
    free(trackers);
    free(pixels);
}
