# The CPU image of weir. Build: docker build -t weir .   Run: docker run -p 8000:8000 -v /path/to/model:/models:ro weir
FROM debian:bookworm-slim AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        cmake ninja-build gcc libc6-dev pkg-config libevent-dev node-llhttp libyaml-dev zlib1g-dev libdnnl-dev libssl-dev \
        libcjson-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY config config
COPY kernels kernels
COPY engine engine
COPY server server
RUN cmake --preset release && cmake --build --preset release --target weir && strip build/release/weir

FROM debian:bookworm-slim
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        libevent-core-2.1-7 libyaml-0-2 zlib1g libdnnl2 libssl3 libcjson1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/weir /usr/bin/weir
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="HTTP inference service with dynamic batching" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV WEIR_HOST=0.0.0.0 \
    WEIR_MODEL_PATH=/models \
    WEIR_MODEL_NAME=model
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 CMD ["/usr/bin/weir", "health"]
ENTRYPOINT ["/usr/bin/weir"]
CMD ["serve"]
