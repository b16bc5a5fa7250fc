# `cqels serve` in a container: docs/operating.md, "In a container".
#
#   docker build -t cqels .
#   docker run --init -p 127.0.0.1:8890:8890 -e CQELS_TOKEN="$(openssl rand -hex 32)" cqels

FROM python:3.12-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY static_data static_data
COPY adaptive adaptive
COPY sparkext sparkext
# The wheel has the jar for the PySpark that is newest within the project's range.
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 cqels
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]" && rm -r /wheels
USER cqels
WORKDIR /home/cqels
ENV PYTHONUNBUFFERED=1 \
    CQELS_HEALTH=http://127.0.0.1:8890/health/ready
EXPOSE 8890
# The certificate of a server that speaks HTTPS is for another name than 127.0.0.1: here it is not looked at.
HEALTHCHECK --interval=15s --timeout=10s --start-period=90s --retries=3 \
    CMD ["python", "-c", "import os, ssl, urllib.request as u; u.urlopen(os.environ['CQELS_HEALTH'], timeout=8, context=ssl._create_unverified_context())"]
ENTRYPOINT ["cqels", "serve", "--host", "0.0.0.0", "--log-format", "json"]
