import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Not ours: which settings Django reads, where Python looks for modules, what torchrun tells its processes.
FOREIGN = {"DJANGO_SETTINGS_MODULE", "PYTHONPATH", "WORLD_SIZE", "LOCAL_RANK"}
READ = re.compile(
    r'(?:environ\.get\(|environ\[|\bflag\(|\bnumber\(|\bfile\(|\brate\(|limit_from_environment\()"([A-Z_]+)"'
)


def test_settings_page_names_exactly_the_variables_that_the_code_reads() -> None:
    packages = ("platform", "chatbots", "evaluation")
    sources = [ROOT / "manage.py", *(path for name in packages for path in ROOT.glob(f"{name}/**/*.py"))]
    read = {name for source in sources for name in READ.findall(source.read_text())} - FOREIGN
    described = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert "DATABASE_URL" in read
    assert described == read
