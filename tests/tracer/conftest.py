"""The kit's assertions explain themselves, too."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tracing_kit")
