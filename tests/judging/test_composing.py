"""How batteries are drawn: balanced, apart, the same from the same seed."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from turnwise.judging.batteries.battery_sampling import MIN_GAP, Member, Recipe, compose

MILLION = 1_000_000


def recipe(
    targets: int = 8, items: int = 10, fillers: int = 11, there: int = 20, repeats: int = 1, asks: int = 1
) -> Recipe:
    """Targets that all respond to the same contexts, and fillers of contexts of their own.

    The item of a thing by the second ask is called a million more. Reasons are asked by the first.
    """

    def member(name: int, cluster: int) -> Member:
        return Member(tuple(name + MILLION * ask for ask in range(asks)), cluster)

    named = {
        f"target {n}": [member(100 * n + place, place) for place in range(items)]
        for n in range(1, targets + 1)
    }
    small_talk = [member(10_000 + place, 1000 + place) for place in range(there)]
    return Recipe(named, small_talk, fillers, repeats, [(5, 15), *[()] * (asks - 1)])


def test_a_battery_has_each_target_once_the_fillers_and_a_repeated_item() -> None:
    for deck in compose([recipe()], 30, seed="a"):
        targets = [card.item // 100 for card in deck if card.item < 10_000]
        fillers = Counter(card.item for card in deck if card.item >= 10_000)
        assert sorted(targets) == list(range(1, 9))
        assert sorted(fillers.values()) == [1] * 10 + [2]
        assert [place for place, card in enumerate(deck, 1) if card.asks_reason] == [5, 15]
        first, second = (
            place for place, card in enumerate(deck) if fillers[card.item] == 2 and card.item >= 10_000
        )
        assert second - first > MIN_GAP
        assert [deck[place].occasion for place in (first, second)] == [1, 2]
        assert sum(card.occasion for card in deck) == 21


def test_no_worker_gets_a_context_twice_and_all_contexts_are_used_equally_often() -> None:
    decks = compose([recipe()], 50, seed="a")

    for deck in decks:
        assert len({card.item % 100 for card in deck if card.item < 10_000}) == 8
    uses = Counter(card.item for deck in decks for card in deck if card.item < 10_000)
    # 8 targets x 50 decks over 80 items: 5 each, give or take what different contexts cost
    assert sum(uses.values()) == 400
    assert max(uses.values()) - min(uses.values()) <= 4
    fillers = Counter(card.item for deck in decks for card in deck if card.item >= 10_000)
    assert max(fillers.values()) - min(fillers.values()) <= 6


@given(
    targets=st.integers(2, 5), items=st.integers(1, 4), fillers=st.integers(0, 6), extra=st.integers(0, 4),
    repeats=st.integers(0, 3), asks=st.integers(1, 3), others=st.booleans(), seed=st.text(max_size=5),
)  # fmt: skip
def test_every_feasible_recipe_is_filled(
    targets: int,
    items: int,
    fillers: int,
    extra: int,
    repeats: int,
    asks: int,
    others: bool,  # drawn by Hypothesis
    seed: str,
) -> None:
    composed = (targets, items, fillers, fillers + extra, min(repeats, fillers))
    wanted = [recipe(*composed, asks=asks), *[recipe(*composed)] * others]
    size = targets + fillers + min(repeats, fillers)

    decks = compose(wanted, 3, seed=seed)

    assert [len(deck) for deck in decks] == [size * (asks + others)] * 3
    assert decks == compose(wanted, 3, seed=seed)
    if not others:
        for deck in decks:
            assert len({(card.item, card.occasion) for card in deck}) == size * asks


def test_each_ask_judges_the_same_things_one_ask_after_the_other() -> None:
    decks = compose([recipe(asks=2)], 40, seed="a")

    begins_with = Counter[int]()
    for deck in decks:
        parts = [deck[:20], deck[20:]]
        of_asks = [{card.item // MILLION for card in part} for part in parts]
        assert sorted(map(tuple, of_asks)) == [(0,), (1,)]
        one, other = ([card.item % MILLION for card in part] for part in parts)
        assert sorted(one) == sorted(other)
        assert one != other  # in another order
        for part in parts:
            reasons = [place for place, card in enumerate(part, 1) if card.asks_reason]
            assert reasons == ([] if part[0].item >= MILLION else [5, 15])
            assert sum(card.occasion for card in part) == 21
        begins_with.update(of_asks[0])
    assert min(begins_with.values()) > 5


def test_another_seed_draws_other_batteries() -> None:
    assert compose([recipe()], 3, seed="a") != compose([recipe()], 3, seed="b")
