"""Exceptions: each is an `Error` and one of Python's own kinds."""

from __future__ import annotations


class Error(Exception):
    """Any error of the library; its message names the file, the frame or the setting."""


class SettingError(Error, ValueError):
    """A setting is unknown or has a wrong value."""


class FrameError(Error, ValueError):
    """An array has a wrong shape, or another size than the first frame."""


class BoxError(Error, ValueError):
    """A target cannot be tracked from this box."""


class StateError(Error, RuntimeError):
    """Another thread uses the object, or it is from before a fork."""


class NotInitializedError(StateError):
    """The tracker has no target yet."""


class FitError(Error, ValueError):
    """A machine cannot be fitted to these samples."""


class FormatError(Error, ValueError):
    """A file is not a readable image, sequence or annotation."""


class EvaluationError(Error, ValueError):
    """Boxes cannot be scored, or an evaluation fails."""


class FileError(Error, OSError):
    """A file or folder cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder does not exist."""


class ClosedPipeError(FileError, BrokenPipeError):
    """The reader of an output closed it."""
