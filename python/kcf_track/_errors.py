"""What can go wrong: each error of the library is an `Error`, and one of Python's own kinds as well."""

from __future__ import annotations


class Error(Exception):
    """Any error of the library; its message names the file, the frame or the setting, and says what would be right."""


class SettingError(Error, ValueError):
    """A setting is unknown, out of its range, or would have no effect."""


class FrameError(Error, ValueError):
    """An array is no frame, or has another size than the frames before it."""


class BoxError(Error, ValueError):
    """A target cannot be tracked from this box."""


class StateError(Error, RuntimeError):
    """It cannot be done now: another thread is using the object, or it was begun before a fork."""


class NotInitializedError(StateError):
    """There is no target yet."""


class FitError(Error, ValueError):
    """No machine can be fitted to these samples."""


class FormatError(Error, ValueError):
    """A file or folder is not what it should be: no image, no sequence, no annotation."""


class EvaluationError(Error, ValueError):
    """Boxes cannot be scored, or an evaluation cannot go on."""


class SnapshotError(Error, ValueError):
    """Bytes are no snapshot of a tracker that this version can go on with."""


class FileError(Error, OSError):
    """A file or folder could not be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class ClosedPipeError(FileError, BrokenPipeError):
    """The reader of an output has gone."""
