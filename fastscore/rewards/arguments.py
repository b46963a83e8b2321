"""What frameworks hand to a reward function, as text: completions of strings or messages, references in any of their forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastscore.errors import ColumnTypeError

__all__ = ["OWN_ROLES", "completion_text", "reference_list"]

#: The roles of a model's own messages; verifiers has ``text`` for a completion without a chat.
OWN_ROLES = ("assistant", "text")


def reference_list(value: Any) -> list[str | None] | None:
    """References as a list: from a string, a list, a dict with ``target``, or a numpy array of these.

    Raises
    ------
    ColumnTypeError
        It is none of them.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return [value]
    if isinstance(value, np.ndarray):
        value = value.tolist()
        return reference_list(value) if not isinstance(value, list) else value
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Mapping):
        if "target" not in value:
            raise ColumnTypeError(
                f"ground_truth: a dict with 'target' is allowed, this one has {', '.join(map(str, value)) or 'nothing'}"
            )
        return reference_list(value["target"])
    raise ColumnTypeError(
        f"ground_truth: a string, a list of strings, a dict with 'target' or a numpy array is allowed, got {type(value).__name__}"
    )


def completion_text(completion: Any) -> str | None:
    """A completion as text: a string, or the last assistant message of a list of messages, dicts or objects with these fields."""
    if completion is None or isinstance(completion, str):
        return completion
    if isinstance(completion, list | tuple) and all(isinstance(m, Mapping) or hasattr(m, "content") for m in completion):
        for message in reversed(completion):
            if _part(message, "role", "assistant") in OWN_ROLES:
                return _content(_part(message, "content"))
        return None
    raise ColumnTypeError(f"completions: a string or a list of messages is allowed, got {type(completion).__name__}")


def _content(content: Any) -> str | None:
    """The text of a message: a string, or the text parts of a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return "".join(str(_part(part, "text") or "") for part in content)
    raise ColumnTypeError(f"completions: a message's content must be text or a list of parts, got {type(content).__name__}")


def _part(message: Any, name: str, default: Any = None) -> Any:
    """A field of a message or of a part of it: a dict's, or an object's, as verifiers has them."""
    return message.get(name, default) if isinstance(message, Mapping) else getattr(message, name, default)
