"""Commands by their names: the common base of the peer's commands and of each device's."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

Command = Callable[..., Awaitable[object]]


class CommandError(Exception):
    """A command that is invalid, or not possible now."""


class CommandSet:
    """A set of commands: the methods whose names begin with "do_". Their parameters are the command's words, as text;
    the result is the answer, where None stands for "ok"; the doc comments are the manual."""

    def call(self, words: Sequence[str]) -> Awaitable[object]:
        """Calls the method that the first word names."""
        if not words:
            raise CommandError('an empty command')
        command: Command | None = getattr(self, f'do_{words[0]}', None)
        if command is None:
            raise CommandError(f'there is no command {words[0]}')
        try:
            inspect.signature(command).bind(*words[1:])
        except TypeError as error:
            raise CommandError(f'{words[0]}: {error}') from None
        return command(*words[1:])
