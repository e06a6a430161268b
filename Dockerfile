# One image for every program of Turnwise; docker-compose.yml says which runs where. Two variants:
#
#   docker build --build-arg VERSION=1.0.0 .                          PyTorch for the CPU, under 2 GB
#   docker build --build-arg VERSION=1.0.0 --build-arg TORCH=cuda .   with CUDA, for bots on a GPU

FROM python:3.11-slim AS base
ENV PATH=/opt/turnwise/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

# Dependencies first: they change seldom, so a change of code does not install PyTorch again.
FROM base AS dependencies
ARG TORCH=cpu
WORKDIR /build
COPY pyproject.toml constraints.txt ./
RUN python -m venv /opt/turnwise
RUN case "$TORCH" in \
        cpu) index=https://download.pytorch.org/whl/cpu ;; \
        cuda) index=https://pypi.org/simple ;; \
        *) echo "TORCH=$TORCH is neither cpu nor cuda." >&2; exit 1 ;; \
    esac \
    && pip install --no-cache-dir --constraint constraints.txt --index-url "$index" \
        --extra-index-url https://pypi.org/simple "$(grep '^torch==' constraints.txt)"
RUN pip install --no-cache-dir --constraint constraints.txt hatchling hatch-vcs $(python -c \
    "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
     print(*(d.replace(' ', '').split(';')[0] for d in p['dependencies'] + p['optional-dependencies']['models'] \
     + p['optional-dependencies']['deploy'] + p['optional-dependencies']['saml']))")
# Tests and C++ headers of libraries: 270 MB that nothing here loads.
RUN find /opt/turnwise -type d -name tests -prune -exec rm -r {} + \
    && cd /opt/turnwise/lib/python3.11/site-packages/torch && rm -r include test

FROM base
ARG VERSION=0.1.dev0
# Bots download models to HF_HOME, which is a separate volume.
ENV TURNWISE_VAR=/var/lib/turnwise HF_HOME=/var/lib/turnwise/models
WORKDIR /srv/turnwise
COPY --from=dependencies /opt/turnwise /opt/turnwise
COPY . .
# Compile once: the programs may not write here, and would compile everything at each start.
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" \
        pip install --no-cache-dir --no-deps --no-build-isolation --editable . \
    && python -m compileall -q chatbots evaluation platform \
    && useradd --uid 10001 --create-home turnwise \
    && install -d -o turnwise /var/lib/turnwise /var/lib/turnwise/static /var/lib/turnwise/models
USER 10001
# Build the font list for charts once: the programs run on a read-only file system.
RUN python -c "import matplotlib.font_manager"
