"""Pages of long tables, and their addresses."""

from adjudge.studio.desk.listing import ROWS, Listing, list_rows, page_of


def test_pages_exist_whatever_is_asked_for():
    """A number beyond the last is the last, one below the first the first; an empty table has one page."""
    assert page_of(101, 99) == (3, slice(100, 150))
    assert page_of(101, -5) == (1, slice(0, 50))
    assert page_of(0, 4) == (1, slice(0, 50))


def test_rows_are_sorted_with_missing_values_last():
    """In both directions; an unknown column leaves the order and is not in the address."""
    columns = {"size": lambda row: row}
    assert list_rows([3, None, 1], columns, "size").rows == [1, 3, None]
    assert list_rows([3, None, 1], columns, "-size").rows == [3, 1, None]
    listing = list_rows([3, None, 1], columns, "<b>")
    assert (listing.rows, listing.sort, listing.address()) == ([3, None, 1], "", "?")


def test_a_page_says_what_it_shows():
    """The first and the last row by their numbers."""
    listing = list_rows(range(ROWS + 7), {}, "", 2)
    assert (listing.first, listing.last, listing.total, listing.pages) == (51, 57, 57, 2)


def test_addresses_keep_the_filter():
    """And can be shared; a column that is sorted already turns round."""
    listing = Listing([], 0, sort="-seconds", query={"find": "a&b"})
    assert listing.address(page=3) == "?find=a%26b&sort=-seconds&page=3"
    assert listing.resort("seconds", largest_first=True) == "?find=a%26b&sort=seconds"
    assert listing.resort("name", largest_first=False) == "?find=a%26b&sort=name"
    assert (listing.sorted_by("seconds"), listing.sorted_by("name")) == ("descending", "")
