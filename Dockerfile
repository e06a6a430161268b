# One image for every program of Turnwise; docker-compose.yml says which runs where.
FROM python:3.11-slim

# Bots download models to HF_HOME, which is a separate volume.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TURNWISE_VAR=/var/lib/turnwise HF_HOME=/var/lib/turnwise/models
WORKDIR /srv/turnwise

# Dependencies first: they change seldom, so a change of code does not install PyTorch again.
COPY pyproject.toml constraints.txt README.md LICENSE ./
RUN pip install --no-cache-dir --constraint constraints.txt $(python -c \
    "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
     print(*(d.replace(' ', '').split(';')[0] for d in p['dependencies'] + p['optional-dependencies']['models'] \
     + p['optional-dependencies']['deploy']))")

COPY . .
# Compile once: the programs may not write here, and would compile everything at each start.
RUN pip install --no-cache-dir --no-deps --editable . \
    && python -m compileall -q chatbots evaluation platform \
    && useradd --system --create-home turnwise \
    && install -d -o turnwise /var/lib/turnwise /var/lib/turnwise/static /var/lib/turnwise/models
USER turnwise
# Build the font list for charts once, instead of in each process.
RUN python -c "import matplotlib.font_manager"
