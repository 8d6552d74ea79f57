"""What the explorer page says in a browser, for its tests."""


def cells(tab):
    """The texts of the map's rows: name, formula, value, gradient; what was before stands in an <s>."""
    return tab.evaluate(
        """() => [...document.querySelectorAll('#rows tbody tr:not([hidden])')].map((row) => {
          const copy = row.cloneNode(true);
          for (const old of copy.querySelectorAll('s')) old.remove();
          return [...copy.children].map((cell) => cell.textContent.trim());
        })"""
    )


def said(tab):
    return tab.text_content("#say")


def step_of(tab):
    return int(tab.input_value("#range"))
