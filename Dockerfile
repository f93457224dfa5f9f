# Berth's image, built from source: what scripts/image makes of a program that is built already (docs/install.md).
#
#   docker build --build-arg COMMIT=$(git rev-parse HEAD) -t registry.example/berth:0.1.0 .
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg COMMIT=... -t registry.example/berth:0.1.0 --push .
#
# The first stage has the compiler; the image has the program, the libraries that it loads, and nothing else. It runs as user 65532.
FROM debian:12 AS build
WORKDIR /berth
# Packages first: they change seldom.
COPY scripts/dependencies.txt scripts/
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 \
    $(awk '$1 == "build" { print $2 }' scripts/dependencies.txt) && rm -rf /var/lib/apt/lists/*
COPY . .
ARG COMMIT
RUN BERTH_COMMIT=$COMMIT cmake --preset release -DBERTH_TESTS=OFF && BERTH_COMMIT=$COMMIT ninja -C build/release berth
# What is in the image is decided there.
ARG MIRROR=http://deb.debian.org
RUN scripts/image --rootfs /image --commit "$COMMIT" --mirror "$MIRROR"

FROM scratch
COPY --from=build /image /
USER 65532:65532
ENTRYPOINT ["/usr/bin/berth"]
