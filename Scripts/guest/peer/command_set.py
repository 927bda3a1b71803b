"""Commands by their names: what the peer's commands and the lock's have in common."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

Command = Callable[..., Awaitable[object]]


class CommandError(Exception):
    """A command that makes no sense, or not now."""


class CommandSet:
    """What can be commanded: the methods whose names begin with "do_". Their parameters are the command's words, as text;
    what they return is the answer, None being "ok"; their doc comments are the manual."""

    def call(self, words: Sequence[str]) -> Awaitable[object]:
        """Calls the method that the first word names."""
        if not words:
            raise CommandError('an empty command')
        command: Command | None = getattr(self, f'do_{words[0]}', None)
        if command is None:
            raise CommandError(f'{words[0]} is no command')
        try:
            inspect.signature(command).bind(*words[1:])
        except TypeError as error:
            raise CommandError(f'{words[0]}: {error}') from None
        return command(*words[1:])
