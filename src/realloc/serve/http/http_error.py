"""Error responses: a status, a code for programs and a sentence for people."""

Headers = tuple[tuple[bytes, bytes], ...]


class HttpError(Exception):
    """The sentence says where and what was expected; it never repeats what was sent."""

    def __init__(
        self, status: int, code: str, sentence: str, headers: Headers = ()
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code
        self.sentence = sentence
        self.headers = headers

    def body(self, request_id: str) -> bytes:
        """Return the JSON that is sent."""
        import orjson  # the console knows these errors, and needs no orjson

        detail = [self.sentence]
        return orjson.dumps(
            {"error": self.code, "detail": detail, "request_id": request_id}
        )


def too_busy(seconds: int, status: int = 429) -> HttpError:
    """Tell the client to retry: the request queue is full or too slow."""
    sentence = f"Too many rows are waiting. Try again in {seconds} s."
    return HttpError(status, "too_busy", sentence, ((b"retry-after", b"%d" % seconds),))


def internal_failure() -> HttpError:
    """Say that something failed inside, and nothing of what."""
    sentence = "The service failed to answer. Keep the current mix."
    return HttpError(503, "internal_failure", sentence)
