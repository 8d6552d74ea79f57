"""Pages in a browser, for the tests that are marked so."""

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        try:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(f"no Chromium: {error}")
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, tmp_path):
    """A function that opens a page; at the end, nothing may have been written to the console."""
    contexts, messages = [], []

    def opened(page, **options):
        context = browser.new_context(viewport={"width": 1200, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: messages.append(message.text))
        tab.on("pageerror", lambda error: messages.append(str(error)))
        tab.on("dialog", lambda dialog: messages.append(dialog.message))
        tab.on(
            "request",
            lambda request: (
                None if request.url.startswith("file:") else messages.append(request.url)
            ),
        )
        page.write(tmp_path / "page.html")
        tab.goto((tmp_path / "page.html").as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert messages == []
