"""The command line as its users meet it: files in, JSON or a located error out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.__main__ import main
from evaluation.files.reading import missing_value_codes

SSA_FILE = """bot,dialogue,turn,rater,sensible,specific,note
meena,d1,2,wanda,1,1,"two
lines"
meena,d1,4,wanda,1,0,
meena,d2,2,rita,true,TRUE,
meena,d2,4,rita,no,no,
echo,d3,2,wanda,0,0,
"""
RATINGS = "item,who,score\nt1,wanda,1\nt1,rita,1\nt1,rex,0\nt2,wanda,0\nt2,rita,0\nt3,rex,1\n"


@pytest.fixture
def run(tmp_path: Path, capsys):
    def command(name: str, content: str | bytes, *options: str):
        path = tmp_path / "labels.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        code = main([name, str(path), *options])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return command


AGREEMENT = ("--unit", "item", "--rater", "who", "--value", "score")


@pytest.mark.parametrize("command", ["agreement", "ssa", "generation"])
def test_the_help_of_a_command_writes_percent_once(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "95 % interval" in told
    assert "%%" not in told


def exported(*rows: str) -> str:
    header = "bot,dialogue,turn,rater,sensible,specific,dialogue_ending,in_primary_analysis"
    return "\n".join([header, *rows, ""])


def test_ssa_counts_of_an_export_what_the_report_counts(run):
    finished = ["a,d1,2,wanda,1,1,complete,true", "a,d1,4,wanda,1,0,complete,true"]

    _, answer = run("ssa", exported(*finished, "a,d2,2,rita,0,0,,false", "a,d3,2,rex,0,0,bot_failed,false"))

    assert answer["labels_of_unfinished_conversations"] == 2
    assert answer["bots"]["a"]["turns"] == 2
    assert answer["bots"]["a"]["sensibleness"]["percent"] == 100


def test_ssa_counts_every_judgment_of_an_export_of_items(run):
    _, answer = run("ssa", exported("a,context-1,1,rita,1,1,,true", "a,d2,2,rita,0,0,complete,true"))

    assert "labels_of_unfinished_conversations" not in answer
    assert answer["bots"]["a"]["turns"] == 2


def test_ssa_of_an_export_without_a_finished_conversation_says_so(run):
    code, error = run("ssa", exported("a,d2,2,rita,0,0,,false"))

    assert code == 2
    assert "no conversation is complete, so none counts" in error


def test_ssa_prints_percentages_per_bot(run):
    code, answer = run("ssa", SSA_FILE)

    assert code == 0
    assert set(answer) == {"count", "bots", "differences"}
    assert list(answer["bots"]) == ["echo", "meena"]
    meena = answer["bots"]["meena"]
    assert set(meena) == {"sensibleness", "specificity", "ssa", "turns", "dialogues", "raters"}
    assert [meena[key]["percent"] for key in ("sensibleness", "specificity", "ssa")] == [75, 50, 62.5]
    assert (meena["turns"], meena["dialogues"], meena["raters"]) == (4, 2, 2)


def test_every_interval_names_its_level_its_method_and_what_it_generalises_to(run):
    _, answer = run("ssa", SSA_FILE)

    for key in ("sensibleness", "specificity", "ssa"):
        score = answer["bots"]["meena"][key]
        assert 0 <= score["interval"][0] <= score["percent"] <= score["interval"][1] <= 100
        assert (score["interval_level"], score["interval_method"]) == (0.95, "logit t")
        assert score["interval_for"].startswith(
            "95\u00a0% interval for other conversations with other workers"
        )


TWO_BOTS = "bot,dialogue,turn,rater,sensible,specific\n" + "".join(
    f"{bot},{bot}{k},1,{bot}r{k},{int(k < yes)},{int(k < yes / 2)}\n"
    for bot, yes in (("a", 19), ("b", 8))
    for k in range(20)
)


def test_differences_are_printed_for_every_score(run):
    found = run("ssa", TWO_BOTS)[1]["differences"]

    assert list(found) == ["sensibleness", "specificity", "ssa"]
    (sensible,) = found["sensibleness"]
    assert sensible["points"] == pytest.approx(55)  # 19 and 8 of 20
    assert sensible["odds_ratio"] == pytest.approx(19 / (8 / 12))
    assert sensible["odds_ratio_interval"][0] > 1
    assert sensible["cohens_d_interval"][0] > 0
    assert found["ssa"][0]["odds_ratio"] == {"cannot_be_told": "The answers are not yes or no."}
    assert sensible["p"] < 0.001
    # One label for each worker: the model has no effects to tell, and its odds ratio is the plain one.
    low, high = sensible["mixed_model"]["interval"]
    assert sensible["mixed_model"]["odds_ratio"] == pytest.approx(28.5, rel=1e-3)
    assert low < 28.5 < high
    assert found["ssa"][0]["mixed_model"] == {"cannot_be_told": "The answers are not yes or no."}
    assert sensible["in_words"].startswith("a is ahead of b by 55.0 points, 95\u00a0% interval ")


def test_equivalence_is_tested_within_a_stated_margin(run):
    (found,) = run("ssa", TWO_BOTS)[1]["differences"]["ssa"]
    (stated,) = run("ssa", TWO_BOTS, "--margin", str(found["equal_within"]))[1]["differences"]["ssa"]

    assert found["equal_within"] > found["points"]
    assert stated["p_equivalence"] == pytest.approx(0.05)


@pytest.mark.parametrize("margin", ["0", "-5", "101", "nan", "five"])
def test_an_invalid_margin_is_refused(run, margin):
    with pytest.raises(SystemExit):
        run("ssa", TWO_BOTS, f"--margin={margin}")


def test_a_bot_with_one_conversation_has_a_named_reason_instead_of_an_interval(run):
    _, answer = run("ssa", SSA_FILE)

    reason = answer["bots"]["echo"]["ssa"]["interval"]["cannot_be_told"]
    assert reason == "All labels are of one conversation and one worker; an interval needs 2."


def test_majority_votes_can_be_chosen(run):
    rows = "bot,dialogue,turn,rater,sensible,specific\n" + "".join(
        f"b,d,2,r{k},{int(k < 2)},0\n" for k in range(3)
    )

    assert run("ssa", rows)[1]["bots"]["b"]["sensibleness"]["percent"] == pytest.approx(200 / 3)
    assert run("ssa", rows, "--count", "majority")[1]["bots"]["b"]["sensibleness"]["percent"] == 100


def test_agreement_prints_the_documented_keys(run):
    code, answer = run("agreement", RATINGS, *AGREEMENT)

    assert code == 0
    assert list(answer) == [
        "units",
        "units_with_one_rating",
        "raters",
        "labels",
        "missing",
        "ratings",
        "percent_agreement",
        "level",
        "krippendorff_alpha",
        "interval",
        "interval_level",
        "interval_method",
        "interval_for",
        "gwet_ac1",
    ]
    # t3 has one rating and does not count
    assert [answer[key] for key in ("units", "units_with_one_rating", "raters", "labels")] == [2, 1, 3, 5]
    assert answer["ratings"] == {"0": 3, "1": 3}
    assert (answer["interval_level"], answer["interval_method"]) == (0.95, "fisher t")
    assert answer["percent_agreement"] == pytest.approx(1 / 2)  # pairs: one of three in t1, one of one in t2
    assert answer["krippendorff_alpha"] == pytest.approx(1 / 3)
    # Mean of units 2/3; shares of 0 and 1 over the three items 4/9 and 5/9, so chance is 40/81.
    assert answer["gwet_ac1"] == pytest.approx(14 / 41)


def test_agreement_of_words_and_of_numbers(run):
    words = RATINGS.replace(",1\n", ",good\n").replace(",0\n", ",bad\n")

    assert run("agreement", words, *AGREEMENT)[1]["krippendorff_alpha"] == pytest.approx(1 / 3)
    ordinal = run("agreement", RATINGS, *AGREEMENT, "--level", "ordinal")[1]
    assert ordinal["krippendorff_alpha"] == pytest.approx(1 / 3)


def test_constant_ratings_have_no_alpha(run):
    _, answer = run("agreement", RATINGS.replace(",0\n", ",1\n"), *AGREEMENT)

    assert answer["percent_agreement"] == 1
    assert "same" in answer["krippendorff_alpha"]["cannot_be_told"]
    assert "same" in answer["interval"]["cannot_be_told"]


def test_turns_of_a_conversation_can_be_counted_together(run):
    rows = "talk,item,who,score\n" + "".join(
        f"c{turn // 4},t{turn},r{k},{(turn // 4 + (turn % 5 == k)) % 2}\n"
        for turn in range(48)
        for k in range(3)
    )

    alone = run("agreement", rows, *AGREEMENT)[1]
    together = run("agreement", rows, *AGREEMENT, "--cluster", "talk")[1]

    assert together["krippendorff_alpha"] == alone["krippendorff_alpha"]
    assert together["interval"] != alone["interval"]
    assert "other clusters and other raters" in together["interval_for"]


def test_a_unit_of_two_clusters_is_named(run):
    rows = RATINGS.replace("item,", "talk,item,").replace("\nt", "\nc,t").replace("c,t2,rita", "d,t2,rita")

    code, error = run("agreement", rows, *AGREEMENT, "--cluster", "talk")

    assert code == 2
    assert "line 6, column talk: unit 't2' belongs to 'd' here, but to 'c' in line 5" in error


def test_a_value_that_looks_like_no_answer_must_be_declared(run):
    rows = RATINGS.replace("t3,rex,1", "t3,rex,N/A (bot down)")

    code, error = run("agreement", rows, *AGREEMENT)
    assert code == 2
    assert "line 7, column score: 'N/A (bot down)' (1 times) may stand for no answer" in error
    assert "--missing 'N/A (bot down)'" in error

    _, left_out = run("agreement", rows, *AGREEMENT, "--missing", "N/A (bot down)")
    assert (left_out["missing"], left_out["ratings"]) == (1, {"0": 3, "1": 2})
    _, real = run("agreement", rows, *AGREEMENT, "--real", "N/A (bot down)")
    assert real["ratings"] == {"0": 3, "1": 2, "N/A (bot down)": 1}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["1", "2", "5", "-99"], ["-99"]),
        (["1", "2", "5", "99"], ["99"]),
        (["10", "60", "99"], []),
        (["-1", "0", "1"], []),
        (["yes", "no", "nan", "Don't know"], ["Don't know", "nan"]),
        (["nature", "nonsense", "notable", "no", "missingness"], []),
        (["good", "none"], ["none"]),
        (["a", "-", "?", "n/a"], ["-", "?", "n/a"]),
    ],
)
def test_codes_for_no_answer_are_recognised(values, found):
    assert missing_value_codes(values) == found


def test_decimals_are_counted_not_listed(run):
    rows = "item,who,score\n" + "".join(
        f"t{k},r{j},{k + 0.001 * j + 0.0001 * k:.4f}\n" for k in range(40) for j in range(3)
    )

    answer = run("agreement", rows, *AGREEMENT, "--level", "interval")[1]

    assert answer["ratings"] == {"distinct": 120, "lowest": 0, "highest": pytest.approx(39.0059)}


@pytest.mark.parametrize("number", ["1_0", "\u0663", "1,5"])
def test_text_that_resembles_a_number_is_refused(run, number):
    rows = RATINGS.replace("t3,rex,1", f't3,rex,"{number}"')

    code, error = run("agreement", rows, *AGREEMENT, "--level", "interval")

    assert code == 2
    assert f"line 7, column score: '{number}' is not a number; write it with the digits 0 to 9" in error


def test_a_turn_of_other_digits_is_refused(run):
    _, error = run("ssa", SSA_FILE.replace("meena,d2,4,", "meena,d2,1_0,"))

    assert "column turn: '1_0' is not a whole number; write it with the digits 0 to 9" in error


@pytest.mark.parametrize(("separator", "called"), [(";", "semicolons"), ("\t", "tabs")])
def test_another_separator_is_named(run, separator, called):
    code, error = run("agreement", RATINGS.replace(",", separator), *AGREEMENT)

    assert code == 2
    assert f"line 1: the columns are separated by {called}. Save the file with commas" in error


@pytest.mark.parametrize(
    ("wrong", "right", "where"),
    [
        (
            "meena,d1,4,wanda,1,0,",
            "meena,d1,4,wanda,0,1,",
            "line 4, column specific: specific but not sensible",
        ),
        ("meena,d1,4,", "meena,d1,2,", "line 4, column rater: rater 'wanda' already labelled.*See line 2"),
        ("meena,d2,4,", "meena,d2,four,", "line 6, column turn: 'four' is not a whole number"),
        (
            "meena,d2,4,",
            f"meena,d2,{2**63},",
            f"line 6, column turn: '{2**63}' is too large",
        ),
        ("rater,sensible", "bot,sensible", "line 1: 2 columns are called bot. Rename all but one"),
        ("rita,no,no,", "rita,perhaps,no,", "line 6, column sensible: 'perhaps' is neither true"),
        ("echo,d3,", "echo,,", "line 7, column dialogue: empty"),
        (
            "echo,d3,2,wanda,0,0,",
            "echo,d3,2,wanda",
            "line 7, column sensible: the row has 4 cells, the header 7",
        ),
        ("sensible,specific", "sensible,specfic", "line 1: there is no column specific. The header has: bot"),
    ],
)
def test_a_bad_cell_is_named_by_line_and_column(run, wrong, right, where):
    assert wrong in SSA_FILE
    code, error = run("ssa", SSA_FILE.replace(wrong, right, 1))

    assert code == 2
    head, _, tail = where.partition(".*")
    assert head in error
    assert tail in error


def test_bad_ratings_are_named_by_line_and_the_users_column(run):
    code, error = run(
        "agreement", RATINGS.replace("t3,rex,1", "t3,rex,one"), *AGREEMENT, "--level", "ordinal"
    )
    assert code == 2
    assert "line 7, column score: 'one' is not a number" in error

    code, error = run("agreement", RATINGS.replace("t3,rex", "t1,rex"), *AGREEMENT)
    assert code == 2
    assert "line 7, column who: rater 'rex' already rated unit 't1'" in error
    assert "See line 4" in error

    _, error = run("agreement", RATINGS.replace("t3,rex,1", "t3,rex,-1"), *AGREEMENT, "--level", "ratio")
    assert "line 7, column score: '-1' is negative" in error

    _, error = run("agreement", RATINGS.replace("t3,rex,1", "t3,rex,inf"), *AGREEMENT, "--level", "interval")
    assert "line 7, column score: 'inf' is not a finite number" in error

    _, error = run(
        "agreement", RATINGS.replace("t3,rex,1", "t3,rex,1e308"), *AGREEMENT, "--level", "interval"
    )
    assert "line 7, column score: '1e308' is too large for a rating; the largest is 1e+100" in error


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there is no column bot. The header has: nothing"),
        (b"bot,dialogue,turn,rater,sensible,specific\n", "no rows below the header"),
        (b"bot,dialogue\xff\n", "is not UTF-8"),
        (
            b'bot,dialogue,turn,rater,sensible,specific\n"m,d,1,r,1,1\n',
            "line 2: unexpected end of data. Is a quotation mark left open",
        ),
    ],
)
def test_a_file_without_a_table_is_named(run, content, words):
    code, error = run("ssa", content)

    assert code == 2
    assert words in error


def test_a_byte_order_mark_and_blank_lines_are_harmless(run):
    code, answer = run("ssa", b"\xef\xbb\xbf" + SSA_FILE.replace("echo", "\necho").encode())

    assert code == 0
    assert set(answer["bots"]) == {"echo", "meena"}


def test_the_module_runs_and_reports_a_missing_file_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "evaluation", "ssa", str(tmp_path / "absent.csv")]
    root = Path(__file__).parents[2]

    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)

    assert done.returncode == 2
    assert "absent.csv: No such file" in done.stderr
    assert "Traceback" not in done.stderr


EXCLUDED_FILE = "bot,dialogue,turn,rater,sensible,specific,rater_excluded\n" + "".join(
    f"{bot},{bot}{n},2,w{n}{bot},{sensible},0,{excluded}\n"
    for bot, answers in (("echo", "0011"), ("meena", "1110"))
    for n, (sensible, excluded) in enumerate(zip(answers, ("false", "false", "false", "true"), strict=True))
)


def test_ssa_gives_both_analyses_the_primary_one_first(run):
    _, answer = run("ssa", EXCLUDED_FILE, "--excluded", "rater_excluded", "--primary", "without_excluded")

    # All: echo 2 of 4, meena 3 of 4 sensible. Without the last rater of each: 1 of 3 and 3 of 3.
    sensible = [answer["bots"][bot]["sensibleness"]["percent"] for bot in ("echo", "meena")]
    beside = [answer["other"]["bots"][bot]["sensibleness"]["percent"] for bot in ("echo", "meena")]
    assert (answer["primary"], answer["other"]["analysis"]) == ("without_excluded", "all")
    assert sensible == pytest.approx([100 / 3, 100])
    assert beside == pytest.approx([50, 75])
    assert answer["differences"]["ssa"][0]["points"] == pytest.approx(-100 / 3)
    assert answer["other"]["differences"]["ssa"][0]["points"] == pytest.approx(-12.5)


def test_a_primary_analysis_without_a_column_of_exclusions_is_refused(run):
    code, said = run("ssa", SSA_FILE, "--primary", "all")

    assert code == 2
    assert "--primary needs --excluded COLUMN" in said


def test_a_closed_pipe_causes_no_traceback(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("unit,rater,value\n1,a,1\n1,b,2\n2,a,1\n2,b,1\n")
    columns = ["--unit", "unit", "--rater", "rater", "--value", "value"]
    command = [sys.executable, "-m", "evaluation", "agreement", str(file), *columns]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout
    running.stdout.close()

    assert running.communicate()[1] == ""


def test_empty_ratings_are_left_out_if_told(run):
    ratings = RATINGS + "t3,wanda,\n"

    assert "column score: empty" in run("agreement", ratings, *AGREEMENT)[1]
    _, answer = run("agreement", ratings, *AGREEMENT, "--missing", "")
    assert answer["missing"] == 1


SPELLINGS = (
    "item,who,score\nt1,wanda,Yes\nt1,rita,yes \nt2,wanda,no\nt2,rita,no\nt3,rita,very  bad\n"
    "t3,wanda,very bad\n"
)


def test_answers_that_differ_only_in_case_or_blanks_are_asked_about(run):
    code, error = run("agreement", SPELLINGS, *AGREEMENT)

    assert code == 2
    assert "line 3, column score: 'Yes' (1 times) and 'yes' (1 times) differ only in case or blanks" in error
    assert "--fold-case" in error
    assert "--keep-case" in error


def test_folded_answers_count_as_one_and_are_named(run):
    _, folded = run("agreement", SPELLINGS, *AGREEMENT, "--fold-case")
    _, kept = run("agreement", SPELLINGS, *AGREEMENT, "--keep-case")

    assert folded["ratings"] == {"Yes": 2, "no": 2, "very  bad": 2}
    assert folded["percent_agreement"] == 1
    assert folded["spelt_differently"] == {"Yes": ["yes"], "very  bad": ["very bad"]}
    assert kept["ratings"] == {"Yes": 1, "no": 2, "very  bad": 1, "very bad": 1, "yes": 1}
    assert kept["percent_agreement"] == pytest.approx(1 / 3)
    assert "spelt_differently" not in kept


def test_accents_in_two_encodings_are_one_answer(run):
    rows = "item,who,score\nt1,wanda,d\u00e9\nt1,rita,de\u0301\nt2,wanda,no\nt2,rita,no\n"

    _, answer = run("agreement", rows, *AGREEMENT, "--fold-case")

    assert answer["percent_agreement"] == 1


def test_a_missing_code_is_folded_with_the_answers(run):
    rows = RATINGS + "t4,wanda,N/A\nt4,rita,n/a\nt5,rita,\n"

    _, answer = run("agreement", rows, *AGREEMENT, "--fold-case", "--missing", "N/A", "--missing", "")

    assert answer["missing"] == 3


def test_numbers_are_not_asked_about(run):
    rows = "item,who,score\nt1,wanda,1E1\nt1,rita,1e1\nt2,wanda,3\nt2,rita,4\n"

    code, answer = run("agreement", rows, *AGREEMENT, "--level", "interval")

    assert code == 0
    assert answer["ratings"] == {"3": 1, "4": 1, "10": 2}
