import pytest

from evaluation.texts.cleaning import contradiction, script_of

CHINESE = ["你好,你今天怎么样?我刚从公园回来,那里有很多人。", "我很好,谢谢。"]
ENGLISH = ["Hello, how are you today?", "Fine, thanks. 你呢?"]


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (CHINESE, "zh"),
        (CHINESE, "zh-TW"),
        (["こんにちは。今日はとてもいい天気ですね。どこへ行きましたか。"], "ja"),
        (ENGLISH, "en"),
        (ENGLISH, "de"),
        (["مرحبا، كيف حالك اليوم؟ أنا بخير والحمد لله"], "ar"),
        (["Да, конечно, я тоже люблю кино"], "ru"),
        (["你好"], "en"),  # too little to tell
        (["12345 !!! 🙂"] * 20, "en"),
        ([], "en"),
    ],
)
def test_texts_that_may_be_in_a_language(texts: list[str], language: str) -> None:
    assert contradiction(texts, language) == ""


@pytest.mark.parametrize(
    ("texts", "language", "why"),
    [
        (CHINESE, "en", "mostly in Chinese script"),
        (CHINESE, "ko", "mostly in Chinese script"),
        (ENGLISH, "zh", "mostly in Latin script"),
        (["Да, конечно, я тоже люблю кино"], "en", "mostly in Cyrillic script"),
    ],
)
def test_texts_that_cannot_be_in_a_language(texts: list[str], language: str, why: str) -> None:
    assert contradiction(texts, language) == why


def test_the_minimum_number_of_letters_is_a_parameter() -> None:
    assert contradiction(["Hi!"], "ar") == ""
    assert contradiction(["Hi!"], "ar", enough=1) == "mostly in Latin script"
    assert contradiction(["Hi!"], "en", enough=1) == ""
    assert contradiction(["嗨"], "en", enough=1) == "mostly in Chinese script"
    assert contradiction(["!"], "en", enough=1) == ""


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        (CHINESE, "CJK"),
        (["你好", "你比我好"], "CJK"),  # six characters say enough, six letters would not
        (["Привет"], ""),
        (ENGLISH, "LATIN"),
        (["Hello, how are you?", "我很好,谢谢你,你今天去哪里了呢"], ""),  # as much of the one as of the other
        (["a" * 5000, *CHINESE * 500], "LATIN"),  # what comes first
        ([], ""),
    ],
)
def test_the_script_of_texts(texts: list[str], script: str) -> None:
    assert script_of(texts) == script
