# emea for CPUs, with the review page: docker build --tag emea .
FROM python:3.13-slim

WORKDIR /src
COPY constraints.txt LICENSE pyproject.toml README.md ./
COPY src src
# torch first, and alone: its build for CPUs is not on PyPI, whose build brings gigabytes of CUDA along.
RUN pip install --no-cache-dir --no-deps --constraint constraints.txt \
        --index-url https://download.pytorch.org/whl/cpu torch \
    && pip install --no-cache-dir --constraint constraints.txt hatchling \
    && pip install --no-cache-dir --constraint constraints.txt --no-build-isolation '.[review]' \
    && useradd --uid 10001 emea \
    && install --directory --owner emea /data

# What is computed once and kept, such as compiled loops, finds a place also with `--user`.
ENV HOME=/tmp
USER 10001
WORKDIR /data
EXPOSE 8347
ENTRYPOINT ["emea"]
CMD ["--help"]
