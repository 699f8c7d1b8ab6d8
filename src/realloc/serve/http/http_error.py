"""What a request is told that cannot be answered: a status, a word for programs and sentences for people."""

import json

Headers = tuple[tuple[bytes, bytes], ...]


class Refusal(Exception):
    """Why not. Sentences name places and what is expected, never what was sent."""

    def __init__(self, status: int, error: str, sentence: str, headers: Headers = ()) -> None:
        super().__init__(sentence)
        self.status, self.error, self.sentence, self.headers = status, error, sentence, headers

    def body(self, request_id: str) -> bytes:
        """As JSON."""
        told = {"error": self.error, "detail": [self.sentence], "request_id": request_id}
        return json.dumps(told, ensure_ascii=False).encode()


def too_busy(seconds: int, status: int = 429) -> Refusal:
    """More is waiting than can be answered in time."""
    sentence = f"Too many rows are waiting. Try again in {seconds} s."
    return Refusal(status, "too_busy", sentence, ((b"retry-after", str(seconds).encode()),))
