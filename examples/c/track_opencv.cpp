// Follow a target through what OpenCV reads, and draw its box:
//
//     ./track_opencv clip.mp4 197,213,34,81 boxes.mp4
//
// A line is "frame x,y,w,h confidence".
#include <kcf_track.h>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <stdexcept>

static void check(kcf_status status) {
    if (status != KCF_STATUS_OK) throw std::runtime_error(kcf_error());
}

int main(int argc, char **argv) try {
    kcf_box box;
    if (argc < 3 || std::sscanf(argv[2], "%lf,%lf,%lf,%lf", &box.x, &box.y, &box.w, &box.h) != 4)
        throw std::runtime_error("usage: track_opencv VIDEO X,Y,W,H [OVERLAY]");
    auto release = [](kcf_tracker *held) { kcf_free(&held); };
    std::unique_ptr<kcf_tracker, decltype(release)> tracker(kcf_create("robust"), release);
    cv::VideoCapture video(argv[1]);
    cv::VideoWriter overlay;
    cv::Mat image;
    for (int number = 1; video.read(image); number++) {
        // OpenCV's own pixels, with its stride: nothing is copied.
        kcf_frame frame{image.data, size_t(image.cols), size_t(image.rows), image.step, KCF_BGR8};
        kcf_estimate found;
        check(number == 1 ? kcf_init(tracker.get(), &frame, box, &found) : kcf_update(tracker.get(), &frame, &found));
        auto [x, y, w, h] = found.bbox;
        std::printf("%d %.4f,%.4f,%.4f,%.4f %.2f\n", number, x, y, w, h, found.confidence);
        if (argc < 4) continue;
        if (number == 1) overlay.open(argv[3], cv::VideoWriter::fourcc('m', 'p', '4', 'v'), 25, image.size());
        cv::rectangle(image, cv::Rect2d(x, y, w, h), cv::Scalar(0, 255, 0), 2);
        overlay.write(image);
    }
} catch (const std::exception &error) {
    return std::fprintf(stderr, "track_opencv: %s\n", error.what()), 1;
}
