"""What can go wrong, as one tree that starts at TuttiError."""


class TuttiError(Exception):
    """Tutti refused or could not do something: a stable code, a sentence, and what to do next."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        fields: dict[str, str] | None = None,
        request_id: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.fields = fields or {}
        self.request_id = request_id
        self.status = status


class Unreachable(TuttiError):
    """No answer came, after all retries."""

    def __init__(self, url: str, cause: str) -> None:
        super().__init__("unreachable", f"no answer from {url}: {cause}", "Check the address, and that Tutti is up there.")


class NotSignedIn(TuttiError):
    """There is no token, or the API does not accept it."""

    def __init__(self, message: str, hint: str = "Sign in with 'tutti login'.", request_id: str | None = None) -> None:
        super().__init__("not_signed_in", message, hint, request_id=request_id, status=401)


class TransferFailed(TuttiError):
    """A file did not get through, after all retries."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__("transfer_failed", f"{name} did not get through: {cause}", "Run it again: what arrived is kept.")
