# adjudge with its studio, as an unprivileged user. The folder /work is the user's; the cache of machine code is a volume.
#   docker build --tag adjudge .
#   docker run --rm --volume "$PWD:/work" adjudge fit labels.csv --out fit/
#   docker run --publish 8000:8000 --volume "$PWD:/work" adjudge serve mine/ --host 0.0.0.0 --url http://localhost:8000
FROM python:3.13-slim

COPY pyproject.toml constraints.txt README.md LICENSE /build/
COPY src /build/src
RUN pip install --no-cache-dir --constraint /build/constraints.txt "/build[bayes,report,studio,openid,learn,postgresql]" && rm -r /build

RUN useradd --create-home --uid 1000 adjudge \
    && install --directory --owner=adjudge --mode=0700 /home/adjudge/.cache /home/adjudge/.cache/adjudge \
    && install --directory --owner=adjudge /work
ENV XDG_CACHE_HOME=/home/adjudge/.cache
VOLUME /home/adjudge/.cache
USER adjudge
WORKDIR /work

EXPOSE 8000
# For the studio; other commands end before the first check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["adjudge"]
CMD ["--help"]
