"""Replace OpenCV's tracker: `cv2.TrackerKCF_create()` becomes `kcf_track.Tracker("paper")`.

    pip install . opencv-contrib-python-headless    # in a clone of kcf-track
    python examples/python/opencv_swap.py VIDEO_OR_FOLDER/%04d.jpg x,y,w,h
"""

import sys

import cv2
import kcf_track


def follow(video, box, tracker):
    """OpenCV's usual loop."""
    boxes = [box]
    _, frame = video.read()
    tracker.init(frame, box)
    while True:
        ok, frame = video.read()
        if not ok:
            return boxes
        ok, box = tracker.update(frame)
        boxes.append(box if ok else None)


if __name__ == "__main__":
    place, box = sys.argv[1], tuple(int(float(number)) for number in sys.argv[2].split(","))
    found = follow(cv2.VideoCapture(place), box, kcf_track.Tracker("paper"))
    print(f"ours:   {len(found)} frames, the last box {found[-1]}")
    if hasattr(cv2, "TrackerKCF_create"):
        found = follow(cv2.VideoCapture(place), box, cv2.TrackerKCF_create())
        print(f"OpenCV: {len(found)} frames, the last box {found[-1]}")
