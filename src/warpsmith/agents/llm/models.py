"""`PROVIDER:MODEL` → a model of pydantic-ai. Owns errors about names, keys and installation, reported before a run begins.

Servers with OpenAI's protocol are many, and each takes its own liberties: `TolerantChatModel` reads their answers.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from openai.types import chat
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile

from warpsmith.agents.llm.scrub import without_secrets
from warpsmith.core.errors import InputError, UnavailableError
from warpsmith.settings import openai_base_url

_OPENAI = frozenset({"openai", "openai-responses"})
_OPENAI_HOST = "openai.com"
_HINT = "PROVIDER:MODEL, such as openai:gpt-5, anthropic:claude-sonnet-4-5, ollama:qwen3-coder or vllm:Qwen/Qwen3-Coder-30B"


def open_model(name: str) -> Model:
    """The model, ready to be asked; nothing is sent yet. Raises InputError or UnavailableError."""
    provider, _, model = name.partition(":")
    if not provider or not model.strip():
        raise InputError(f"{name!r} names no model", hint=_HINT)
    if provider in _OPENAI and _is_foreign(openai_base_url()):
        # The responses API is OpenAI's own; what else stands behind a base URL speaks chat completions.
        name = f"openai-chat:{model}"
    try:
        found = infer_model(name)
    except UserError as error:
        raise _mistake(name, provider, error) from None
    except ImportError as error:
        raise UnavailableError(
            f"{name} needs a package that is not installed: {_first_sentence(error)}",
            hint=f"pip install 'pydantic-ai-slim[{provider}]'",
        ) from None
    except Exception as error:  # noqa: BLE001 - a vendor's client that cannot be made, whatever it raises
        raise UnavailableError(f"{name} cannot be set up: {type(error).__name__}: {_first_sentence(error)}") from None
    _check_address(found, name)
    return _tolerant(found) if type(found) is OpenAIChatModel else found


def address_of(model: Model) -> str | None:
    """Where it is asked; None for clients that do not tell."""
    try:
        return model.base_url
    except (AttributeError, UserError):
        return None


def _check_address(model: Model, name: str) -> None:
    url = address_of(model)
    if url is not None and not (urlsplit(url).scheme in {"http", "https"} and urlsplit(url).hostname):
        hint = "set it as http://HOST:PORT/v1 (OPENAI_BASE_URL and the like), or unset the variable"
        raise InputError(f"{without_secrets(url)!r} is not an address for {name}", hint=hint)


def _is_foreign(url: str | None) -> bool:
    host = urlsplit(url).hostname if url else None
    return host is not None and host != _OPENAI_HOST and not host.endswith(f".{_OPENAI_HOST}")


def _mistake(name: str, provider: str, error: UserError) -> InputError | UnavailableError:
    said = _first_sentence(error)
    if said.startswith("Unknown model"):
        return InputError(f"no provider {provider!r} for {name!r}", hint=_HINT)
    return UnavailableError(
        f"{name} cannot be asked: {said}", hint="keys and addresses come from the environment only; --agent rules needs none"
    )


def _first_sentence(error: Exception) -> str:
    """pydantic-ai's own words up to where they turn to its users."""
    text = " ".join(without_secrets(str(error)).split())
    for mark in (" To try Pydantic AI", ", you can use the"):
        text = text.split(mark)[0]
    return text[:300]


def _tolerant(model: OpenAIChatModel) -> OpenAIChatModel:
    """The same model behind the same server, read with more patience."""
    profile = None
    if _is_foreign(model.base_url):
        # `max_tokens` is the name that every server knows; OpenAI's own models want the new one.
        profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return TolerantChatModel(model.model_name, provider=model._provider, profile=profile)  # noqa: SLF001


class TolerantChatModel(OpenAIChatModel):
    """Reads servers that only nearly speak the protocol: content as a list of parts, arguments as an object, no id."""

    def _validate_completion(self, response: chat.ChatCompletion) -> Any:
        data = response.model_dump(warnings=False)
        if not data.get("choices"):
            known = {key: value for key, value in data.items() if value is not None}
            raise UnexpectedModelBehavior(f"the server's answer has no choices: {json.dumps(known, default=str)[:300]}")
        return super()._validate_completion(chat.ChatCompletion.model_construct(**_regular(data)))


def _regular(data: dict[str, Any]) -> dict[str, Any]:
    message = dict(data["choices"][0].get("message") or {})
    message["role"] = "assistant"
    message["content"] = _joined(message.get("content"))
    calls = message.get("tool_calls") or [{"function": call} for call in [message.pop("function_call", None)] if call]
    message["tool_calls"] = [_call(number, call) for number, call in enumerate(calls) if isinstance(call, dict)] or None
    first = {**data["choices"][0], "message": message, "index": 0, "logprobs": None}
    if first.get("finish_reason") not in {"stop", "length", "tool_calls", "content_filter", "function_call"}:
        first["finish_reason"] = "stop"
    return {
        **data,
        "usage": _usage(data.get("usage")),
        "id": str(data.get("id") or ""),
        "object": "chat.completion",
        "model": str(data.get("model") or ""),
        "choices": [first],
    }


def _usage(usage: Any) -> dict[str, Any] | None:
    """None for counts that are none, as some gateways give them: the answer is good all the same, and tokens are estimated."""
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
    if not counts or not all(isinstance(count, int) and count >= 0 for count in counts):
        return None
    return {**usage, "total_tokens": sum(counts)}


def _joined(content: Any) -> str | None:
    if not isinstance(content, list):
        return None if content is None else str(content)
    texts = [part if isinstance(part, str) else str(part.get("text") or "") for part in content if isinstance(part, (str, dict))]
    return "".join(texts)


def _call(number: int, call: dict[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function") or {})
    arguments = function.get("arguments")
    function["arguments"] = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    function["name"] = str(function.get("name") or "")
    return {**call, "id": str(call.get("id") or f"call_{number}"), "type": "function", "function": function}
