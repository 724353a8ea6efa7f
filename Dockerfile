# incrowd in a container, for machines without Python:
#   docker build -t incrowd .
#   docker run --rm --network none -v "$PWD:/data" incrowd demo -o demo
FROM python:3.11-slim AS wheel
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
COPY gate ./gate
COPY verify ./verify
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel ./gate ./verify .

FROM python:3.11-slim
# Which extras are installed, e.g. --build-arg EXTRAS=[report,postgres]
ARG EXTRAS=
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir /wheel/incrowd_gate-*.whl /wheel/incrowd_verify-*.whl "$(echo /wheel/incrowd-*.whl)$EXTRAS" && rm -r /wheel
# The kernels are compiled once, here. Everybody may read and write them, whoever runs the container.
ENV NUMBA_CACHE_DIR=/kernels
RUN mkdir /kernels \
    && incrowd warm \
    && chmod -R a+rwX /kernels
# Files that it writes belong to this user, unless `docker run --user` names another.
RUN useradd --create-home --uid 1000 incrowd
USER 1000
WORKDIR /data
ENTRYPOINT ["incrowd"]
CMD ["--help"]
