"""The welcome page with a consent text in Markdown."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.conftest import MakeStudy

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WRITTEN = f"""# Before you agree

- Read [this](https://example.org/{"a" * 120})
- https://example.org/{"b" * 120}

```
{"x" * 200}
```
"""


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_formatted_consent_text_fits(visit: Visit, make_study: MakeStudy, width: int) -> None:
    study = await sync_to_async(make_study)()
    await study.consent_versions.acreate(number=2, text=WRITTEN)
    wanda = await visit(viewport={"width": width, "height": 800})
    await wanda.go(study.get_entry_url())
    await expect(wanda.page.locator(".card li")).to_have_count(2)
    assert await wanda.fits()
    assert await wanda.flaws() == []
