"""OpenCV's loop, unchanged, with a tracker of kcf-track: `create` is the only line that differs.

    pip install . opencv-contrib-python-headless    # in a clone of kcf-track
    python examples/python/opencv_swap.py VIDEO_OR_FOLDER/%04d.jpg x,y,w,h
"""

import sys

import cv2
import kcf_track


def create():
    """In place of `cv2.TrackerKCF_create()`; boxes are whole numbers, as OpenCV draws them."""
    return kcf_track.Tracker("robust", integer=True)


def follow(video, bbox, create):
    """The loop of OpenCV's tutorials."""
    tracker = create()
    ok, frame = video.read()
    tracker.init(frame, bbox)
    boxes = [bbox]
    while True:
        ok, frame = video.read()
        if not ok:
            return boxes
        ok, bbox = tracker.update(frame)
        if ok:
            p1 = (bbox[0], bbox[1])
            p2 = (bbox[0] + bbox[2], bbox[1] + bbox[3])
            cv2.rectangle(frame, p1, p2, (255, 0, 0), 2, 1)
        if hasattr(tracker, "getTrackingScore"):
            cv2.putText(frame, f"{tracker.getTrackingScore():.2f}", (20, 40), cv2.FONT_HERSHEY_SIMPLEX, 0.75, (0, 0, 255), 2)
        boxes.append(bbox if ok else None)


if __name__ == "__main__":
    place, box = sys.argv[1], tuple(int(float(number)) for number in sys.argv[2].split(","))
    found = follow(cv2.VideoCapture(place), box, create)
    print(f"ours:   {len(found)} frames, the last box {found[-1]}")
    if hasattr(cv2, "TrackerKCF_create"):
        found = follow(cv2.VideoCapture(place), box, cv2.TrackerKCF_create)
        print(f"OpenCV: {len(found)} frames, the last box {found[-1]}")
