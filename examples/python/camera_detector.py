"""Follow what a slow detector finds in a camera or a video: the detector runs in a thread and is late.

    python camera_detector.py 0 yolo11n.pt
    python camera_detector.py clip.mp4            # without a model: what moves

Needs OpenCV, and ultralytics for a model. Press q to end.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import kcf_track


def follow(camera, detect, show, targets=None):
    """Give each frame of an OpenCV capture and its tracks to `show`, until that answers False."""
    targets = targets or kcf_track.MultiTracker("fast", detections={})
    waiting = None
    with ThreadPoolExecutor(1) as pool:
        while (read := camera.read())[0]:
            frame, found, at = read[1], None, None
            if waiting and waiting[1].done():
                at, found, waiting = waiting[0], waiting[1].result(), None
            targets.update(frame, found, at)
            waiting = waiting or (targets.position, pool.submit(detect, frame.copy()))
            if show(frame, targets.tracks) is False:
                break


def main(source, model=None):
    """Show the tracks in a window."""
    import cv2

    ground = cv2.createBackgroundSubtractorMOG2()

    def moving(frame):
        contours, _ = cv2.findContours(
            cv2.medianBlur(ground.apply(frame), 5), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
        )
        return [box for box in map(cv2.boundingRect, contours) if box[2] * box[3] > 600]

    def show(frame, tracks):
        for id, (left, top, right, bottom) in zip(tracks.ids, tracks.xyxy.astype(int)):
            cv2.rectangle(frame, (left, top), (right, bottom), (0, 255, 0), 2)
            cv2.putText(frame, str(id), (left, top - 4), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 255, 0))
        cv2.imshow("kcf-track", frame)
        return cv2.waitKey(1) != ord("q")

    if model is not None:
        from ultralytics import YOLO

        moving = YOLO(model)
    follow(cv2.VideoCapture(int(source) if source.isdigit() else source), moving, show)


if __name__ == "__main__":
    main(*sys.argv[1:])
