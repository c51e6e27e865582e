#!/bin/sh
# Tests of the C interface: tests/abi/run.sh BUILD_DIR TALKER.gguf CODEC.gguf [OTHER_TALKER.gguf...]
#
# BUILD_DIR has libqwen.so; the GGUFs are a small model (synth.c also runs with the other talkers). Compiles and
# runs everything here, prints what fails and a summary, and fails if a test did. Parts whose toolchain is missing
# (C++, Python, Rust) are skipped, and said to be. Results and programs are in BUILD_DIR/abi.
set -u

if [ $# -lt 3 ]; then
	sed -n '2s/^# //p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
talker=$(realpath "$2") && codec=$(realpath "$3") || exit 2
shift 3
work=$build/abi
log=$work/log.txt
mkdir -p "$work/qtfault"
: >"$log"

export TMPDIR="$work/tmp"
rm -rf "$TMPDIR" && mkdir -p "$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
export QWEN_THREADS="${QWEN_THREADS:-1}"
if [ -z "${QWEN_GGML_DIR:-}" ] && [ -d "$root/.ggml" ]; then
	export QWEN_GGML_DIR="$root/.ggml"
fi
if [ -n "${QWEN_ONNXRUNTIME:-}" ] || [ -d "$root/.onnxruntime" ]; then
	export QWEN_ONNXRUNTIME="${QWEN_ONNXRUNTIME:-$root/.onnxruntime}"
	export QWEN_TEST_VOCODER="$work/vocoder/tiny-vocoder.onnx" # for synth.c; its weights are those of the checkpoint
	mkdir -p "$work/vocoder"
	cp "$root/tests/golden/onnx/tiny-vocoder.onnx" "$(dirname "$codec")/checkpoints/tiny-tokenizer-12hz/model.safetensors" \
		"$work/vocoder" || unset QWEN_TEST_VOCODER
fi
cc=${CC:-cc}
cxx=${CXX:-c++}
go=${GO:-go}
warnings="-Wall -Wextra -Werror -pedantic"

say() { printf '%s\n' "$*" | tee -a "$log"; }
passed() { say "ok - $1"; }
failed() { say "not ok - $1"; }
skipped() { # in CI, nothing may be
	if [ "${CI:-}" = true ]; then failed "skipped: $1"; else say "skipped - $1"; fi
}

# test NAME COMMAND...: one test, which passes if the command does.
test_command() {
	name=$1
	shift
	if output=$("$@" 2>&1); then
		passed "$name"
		return 0
	else
		printf '%s\n' "$output" | tail -40 | sed 's/^/# /' | tee -a "$log"
		failed "$name"
		return 1
	fi
}

# program NAME COMMAND...: a program that prints a line for each test of its own.
program() {
	name=$1
	shift
	say "# $name"
	timeout "${ABI_TIMEOUT:-600}" "$@" >"$work/output.txt" 2>"$work/stderr.txt"
	code=$?
	tee -a "$log" <"$work/output.txt"
	if [ $code -ne 0 ] && ! grep -q '^not ok' "$work/output.txt"; then
		tail -40 "$work/stderr.txt" | sed 's/^/# /' | tee -a "$log"
		failed "$name: exit status $code"
	fi
}

# compile PROGRAM LIB_DIR FLAGS...: links a C program with the library there.
compile() {
	name=$1 lib=$2
	shift 2
	test_command "$name.c compiles ($*)" $cc "$@" -g -I"$root/include" "$here/$name.c" -o "$work/$name" \
		-L"$lib" -lqwen -lm -lpthread -Wl,-rpath,"$lib"
}

# ---- Symbols and layout ----

nm -D --defined-only "$build/libqwen.so" | awk '{print $NF}' | LC_ALL=C sort >"$work/symbols.txt"
test_command "symbols: those of qwen.h and no other" diff "$here/symbols.golden" "$work/symbols.txt"
test_command "SONAME libqwen.so.0" sh -c "readelf -d '$build/libqwen.so' | grep -q 'SONAME.*\[libqwen\.so\.0\]'"

for std in c99 c11 c17; do
	test_command "header: $std" $cc -std=$std $warnings -Wstrict-prototypes -fsyntax-only -x c "$root/include/qwen.h"
done
test_command "layout.c compiles" $cc -std=c99 $warnings -I"$root/include" "$here/layout.c" -o "$work/layout"
"$work/layout" >"$work/layout.txt" &&
	test_command "layout: equal to layout.golden" diff "$here/layout.golden" "$work/layout.txt"

# ---- C ----

compile smoke "$build" -std=c99 $warnings && program smoke "$work/smoke"
compile synth "$build" -std=c99 $warnings && program synth "$work/synth" "$talker" "$codec"
for other in "$@"; do
	[ -x "$work/synth" ] && program "synth $(basename "$other")" "$work/synth" "$other" "$codec"
done
compile threads "$build" -std=c99 $warnings && program threads "$work/threads" "$talker" "$codec"
compile host "$build" -std=c99 $warnings && program host "$work/host" "$talker" "$codec"

# Memory that goes over between library and caller, seen by the caller's AddressSanitizer.
sanitize="-fsanitize=address -fno-omit-frame-pointer"
if echo 'int main(void) { return 0; }' | $cc $sanitize -x c - -o "$work/sanitized" 2>/dev/null && "$work/sanitized"; then
	echo "leak:libonnxruntime" >"$work/leaks.txt" # it keeps an object for good
	# Signals are Go's; what was freed is kept for a while, but not so much that it hides what is not freed.
	export ASAN_OPTIONS="handle_segv=0:handle_sigfpe=0:allocator_may_return_null=1:quarantine_size_mb=8"
	export LSAN_OPTIONS="suppressions=$work/leaks.txt:print_suppressions=0"
	compile smoke "$build" -std=c99 $sanitize && program "smoke, address sanitizer" "$work/smoke"
	compile synth "$build" -std=c99 $sanitize && program "synth, address sanitizer" "$work/synth" "$talker" "$codec"
	compile threads "$build" -std=c99 $sanitize && program "threads, address sanitizer" "$work/threads" "$talker" "$codec"
	unset ASAN_OPTIONS LSAN_OPTIONS
else
	skipped "address sanitizer: $cc has none"
fi

test_command "library with injected faults" env CGO_ENABLED=1 \
	"$go" build -C "$root" -buildmode=c-shared -trimpath -tags qtfault \
	-ldflags "-extldflags '-Wl,--version-script=$root/capi/libqwen.map -Wl,-soname,libqwen.so'" \
	-o "$work/qtfault/libqwen.so" ./capi
compile fault "$work/qtfault" -std=c99 $warnings && program fault "$work/fault" "$talker" "$codec"

# ---- C++ ----

if command -v "$cxx" >/dev/null; then
	for std in c++98 c++11 c++17; do
		test_command "cxx.cpp compiles ($std)" $cxx -std=$std $warnings -I"$root/include" "$here/cxx.cpp" -o "$work/cxx" \
			-L"$build" -lqwen -Wl,-rpath,"$build" &&
			program "cxx $std" "$work/cxx"
	done
else
	skipped "C++: no $cxx"
fi

# ---- Python ----

if command -v python3 >/dev/null; then
	program minimal.py python3 "$here/minimal.py" "$build/libqwen.so" "$talker" "$codec"
else
	skipped "Python: no python3"
fi

# ---- Rust ----

have_libclang() {
	for file in ${LIBCLANG_PATH:+"$LIBCLANG_PATH"} \
		/usr/lib/llvm-*/lib/libclang*.so* /usr/lib*/libclang*.so* /usr/lib/*/libclang*.so*; do
		[ -e "$file" ] && return 0
	done
	return 1
}

rust=$build/rust # with bindings/rust: bindgen is compiled once
export QWEN_LIB_DIR="$build" CARGO_TARGET_DIR="$rust"
if ! command -v cargo >/dev/null; then
	skipped "Rust: no cargo"
elif ! have_libclang; then
	skipped "Rust: bindgen needs libclang (apt-get install libclang-dev)"
elif ! bash "$root/scripts/retry.sh" cargo fetch --locked --manifest-path "$here/rust/Cargo.toml" >"$work/cargo.txt" 2>&1; then
	tail -5 "$work/cargo.txt" | sed 's/^/# /'
	skipped "Rust: bindgen cannot be fetched"
else
	test_command "Rust program builds" cargo build --quiet --locked --manifest-path "$here/rust/Cargo.toml" &&
		program rust "$rust/debug/qwen-abi-minimal" "$talker" "$codec"
fi

# ---- Summary ----

count() { grep -c "^$1" "$log"; }
n_failed=$(count 'not ok - ')
echo
grep '^not ok - ' "$log"
grep '^skipped - ' "$log"
echo "ABI: $(count 'ok - ') passed, $n_failed failed, $(count 'skipped - ') skipped"
[ "$n_failed" -eq 0 ]
