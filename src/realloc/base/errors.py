"""The errors that a user may cause, as a small tree below `ReallocError`."""


class ReallocError(Exception):
    """Base of errors with a message for the user; the command line prints it and exits with 2."""


class LogError(ReallocError, ValueError):
    """A log (file, frame, row) that no policy may be learned from."""


class ConfigError(ReallocError, ValueError):
    """A schema, config or option that cannot be used as written."""


class ArtifactError(ReallocError, ValueError):
    """A saved model or version that cannot be read, or not be written where asked."""


class StoreError(ReallocError, ValueError):
    """A store that cannot be read or written as asked; what it held before, it still holds."""


class LedgerError(ReallocError, ValueError):
    """A decision log that cannot be read or added to; what it held before, it still holds."""


class PublishError(ReallocError):
    """Recommendations that are not published because a limit of `[publish]` is broken."""


class UnfinishedError(ReallocError):
    """A job of several processes that is not complete yet; what is finished is kept."""


class MissingExtra(ReallocError, ImportError):
    """An optional package is not installed; the message holds the pip line that brings it."""
