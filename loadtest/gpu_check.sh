#!/usr/bin/env bash
# usage: gpu_check.sh [--simulated | --packed | --pack] [OPTION]...   checks a GPU, see gpu_check.py --help.
#   (nothing)    builds what is checked in build/, with nvcc
#   --pack       builds it and puts all of it into build/gpu-check.tar.gz, to be carried to a machine that has no build tools
#   --packed     takes build/gpu-check.tar.gz as it was carried
#   --simulated  runs every part on the double, without a GPU
# GPU_CHECK_BUILD names another build folder, which is taken as it is. ./dev gpu-check calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONDONTWRITEBYTECODE=1
PACK=build/gpu-check.tar.gz
MOST_MIB=50

# The first Python with NumPy: on a machine for training it is the one with PyTorch too.
find_python() {
    local python
    for python in "${PYTHON:-python3}" python3 /usr/bin/python3; do
        if "$python" -c 'import numpy' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    echo "gpu_check.sh: no python3 with NumPy" >&2
    return 1
}

build() {
    cmake --preset dev >/dev/null
    cmake --build --preset dev --target "$@"
}

build_simulated() {
    build weir weir-load weir_cuda_sim nvml_double device.nvml device_programs_simulated double.cuda_kernels \
        double.cuda_moves double.cuda_layers && return
    echo "gpu_check.sh: the double needs the CUDA toolkit's headers and a C++ compiler" >&2
    return 1
}

# Shared libraries of the programs, but for those of glibc, of the compiler, and of NVIDIA, which a machine with nvcc has: they go with the programs.
libraries_of() {
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
        grep -vE '/(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|libcublasLt|libcuda|libnvidia-ml)\.so'
}

pack() {
    local from=${GPU_CHECK_BUILD:-build} folder=build/gpu-check file
    [[ -n ${GPU_CHECK_BUILD:-} ]] || build weir weir-load weir_cuda device_programs
    if [[ ! -e $from/weir_cuda.so ]]; then
        echo "gpu_check.sh: weir_cuda.so was not built: nvcc, cudart_static or cublasLt is missing" >&2
        exit 1
    fi
    rm -rf "$folder"
    mkdir -p "$folder/device" "$folder/lib"
    cp "$from/weir" "$from/weir-load" "$from/weir_cuda.so" "$folder"
    for file in floor fault products engine kernels moves layers nvml weir_cuda_fault.so; do
        cp "$from/device/$file" "$folder/device"
    done
    while IFS= read -r file; do
        cp -L "$file" "$folder/lib"
    done < <(libraries_of "$folder"/weir "$folder"/weir-load "$folder"/weir_cuda.so "$folder"/device/*)
    strip --strip-unneeded "$folder"/weir "$folder"/weir-load "$folder"/*.so "$folder"/device/*
    git describe --always --dirty >"$folder/commit"
    tar -C build --owner=0 --group=0 -czf "$PACK" gpu-check
    rm -rf "$folder"
    local mib=$(($(stat -c %s "$PACK") / 1048576 + 1))
    if ((mib > MOST_MIB)); then
        echo "gpu_check.sh: $mib MiB are more than can be carried ($MOST_MIB)" >&2
        exit 1
    fi
    echo "packed: $PACK, $mib MiB. There: loadtest/gpu_check.sh --packed"
}

case ${1:-} in
--pack)
    pack
    exit
    ;;
--packed)
    from=build/gpu-check
    rm -rf "$from"
    tar -C build -xzf "$PACK"
    shift
    ;;
--simulated)
    from=${GPU_CHECK_BUILD:-build}
    [[ -n ${GPU_CHECK_BUILD:-} ]] || build_simulated
    ;;
*)
    from=${GPU_CHECK_BUILD:-build}
    [[ -n ${GPU_CHECK_BUILD:-} ]] || build weir weir-load weir_cuda device_programs
    ;;
esac
python=$(find_python)
exec "$python" loadtest/gpu_check.py --build "$from" "$@"
