"""What a page says to who cannot log in."""

from hibernator.web.application import away_page
from hibernator.web.refusals import unknown_attempt


def test_who_began_at_another_address_or_without_tls_is_told_where_to_log_in() -> None:
    assert unknown_attempt("https://h.company.com").page.fix == "Log in again, at h.company.com."
    assert "at localhost:8081. Without TLS, Safari" in unknown_attempt("http://localhost:8081").page.fix


def test_a_change_whose_answer_was_lost_is_not_said_to_be_undone() -> None:
    assert "Nothing was changed" in away_page("GET").words
    assert "We do not know whether your change was stored" in away_page("POST").words
    assert "shows what was stored" in away_page("POST").fix
