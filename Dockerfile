# One image for every program of Turnwise; docker-compose.yml says which runs where.
FROM python:3.11-slim

# Models that bots fetch are kept below HF_HOME, which is a volume of its own.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TURNWISE_VAR=/var/lib/turnwise HF_HOME=/var/lib/turnwise/models
WORKDIR /srv/turnwise

# What changes seldom first, so that a change of code does not install PyTorch again.
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN pip install --no-cache-dir --constraint constraints.txt $(python -c \
    "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
     print(*(d.replace(' ', '').split(';')[0] for d in p['dependencies'] + p['optional-dependencies']['models'] \
     + p['optional-dependencies']['deploy']))")

COPY . .
# Compiled here, once: the programs may not write, and each start would otherwise compile all anew.
RUN pip install --no-cache-dir --no-deps --editable . \
    && python -m compileall -q chatbots evaluation platform \
    && useradd --system --create-home turnwise \
    && install -d -o turnwise /var/lib/turnwise /var/lib/turnwise/static /var/lib/turnwise/models
USER turnwise
# The list of fonts for charts, which each process would otherwise make anew.
RUN python -c "import matplotlib.font_manager"
