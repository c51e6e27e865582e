# libqwen: `make demo` and `make test` need nothing before them; `make help` lists the rest.

GO      ?= go
BUILD   := build
VERSION := $(shell git log -1 --format='%h (%cs)' 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X 'main.version=$(VERSION)'

# The shared library: libqwen.so -> libqwen.so.0 -> libqwen.so.0.1.0. SOVERSION changes with the ABI.
SOVERSION  := 0
LIBVERSION := $(SOVERSION).1.0
LIBRARY    := $(BUILD)/libqwen.so.$(LIBVERSION)
COMMANDS   := qwen-tts qwen-codec qwen-convert qwen-quantize qwen-info qwen-pull tts-server

# Systems that everything but capi is built for without a C compiler.
CROSS := linux/arm64 darwin/arm64 windows/amd64

STATICCHECK := v0.8.2
HFHUB       := 2.4.0
PYONNX      := 1.23.2
OPENAI      := 3.57.0
PYAV        := 18.1.0
OPENAPI     := 0.9.0
# What each fuzz target may take: inputs (4000x) or time (10m), and the seconds after which it counts as hung (0: never).
FUZZTIME    ?= 4000x
FUZZLIMIT   ?= 900
# After which go test takes a package for one that hangs: much longer than any takes, for busy and slow machines.
GOTIME      ?= 30m

# make demo: models to speak with (default: tiny ones with random weights), what to say and how.
MODEL    ?=
CODEC    ?=
TEXT     ?= Hello! This sentence was spoken by libqwen.
SPEAKER  ?=
LANG_    ?= auto
INSTRUCT ?=

TINY        := $(BUILD)/demo
TINY_MODEL  := $(TINY)/tiny-customvoice-17.gguf
TINY_CODEC  := $(TINY)/tiny-tokenizer-12hz.gguf
TINY_OTHERS := $(TINY)/tiny-base-17.gguf $(TINY)/tiny-voicedesign-17.gguf

.DEFAULT_GOAL := all
.NOTPARALLEL: # several targets fill the same folders; what they call is parallel by itself
.PHONY: all lib commands ggml onnxruntime demo tiny test check fmt vet lint cross scripts go-test race test-vulkan hub-test onnx-test fuzz abi rust rust-bindings wheel python bench clean help

all: lib commands share ## build libqwen.so, the commands and their manual (the default)

lib: ## build build/libqwen.so, the C library
	@mkdir -p $(BUILD)
	CGO_ENABLED=1 $(GO) build -buildmode=c-shared -trimpath \
	  -ldflags "$(LDFLAGS) -extldflags '-Wl,--version-script=$(CURDIR)/capi/libqwen.map -Wl,-soname,libqwen.so.$(SOVERSION)'" \
	  -o $(LIBRARY) ./capi
	@rm -f $(BUILD)/libqwen*.h # cgo's own header; include/qwen.h is the contract
	@ln -sf libqwen.so.$(LIBVERSION) $(BUILD)/libqwen.so.$(SOVERSION)
	@ln -sf libqwen.so.$(SOVERSION) $(BUILD)/libqwen.so

commands: ## build the commands into build/bin
	@mkdir -p $(BUILD)/bin
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BUILD)/bin/ $(COMMANDS:%=./cmd/%)

.PHONY: share install uninstall install-test parity parity-doc

share: commands ## make the manual pages and shell completions in build/share
	@rm -rf $(BUILD)/share
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null) $(GO) run ./internal/manual $(BUILD)/share $(COMMANDS:%=$(BUILD)/bin/%)

install: ## install what `make` and `make ggml` made; PREFIX, DESTDIR, LIBDIR … as in scripts/install.sh
	@bash scripts/install.sh install

uninstall: ## remove what was installed there
	@bash scripts/install.sh uninstall

install uninstall: export LIBVERSION := $(LIBVERSION)
install uninstall: export SOVERSION := $(SOVERSION)
install uninstall: export COMMANDS := $(COMMANDS)

ggml: ## put ggml's shared libraries into .ggml (with QWEN_GGML_DIR set: only check those)
	@python3 scripts/fetch-ggml.py .ggml
	@QWEN_GGML_DIR="$${QWEN_GGML_DIR:-$(CURDIR)/.ggml}" $(GO) run ./cmd/qwen-tts --list-devices

onnxruntime: ## put ONNX Runtime's shared library into .onnxruntime, for ONNX vocoders (with QWEN_ONNXRUNTIME set: do nothing)
	@python3 scripts/fetch-onnxruntime.py .onnxruntime

demo: commands ggml $(TINY_MODEL) $(TINY_CODEC) ## speak TEXT to demo.wav; for real speech: make demo MODEL=talker.gguf CODEC=tokenizer.gguf
	@bash scripts/demo.sh

demo: export MODEL := $(MODEL)
demo: export CODEC := $(CODEC)
demo: export TEXT := $(TEXT)
demo: export SPEAKER := $(SPEAKER)
demo: export LANG_ := $(LANG_)
demo: export INSTRUCT := $(INSTRUCT)
demo: export TINY_MODEL := $(TINY_MODEL)
demo: export TINY_CODEC := $(TINY_CODEC)

tiny: $(TINY_MODEL) $(TINY_CODEC) $(TINY_OTHERS) ## make the tiny random-weight models in build/demo
	@echo
	@echo "Models that speak noise, and do not know when to end, are in $(TINY). Try:"
	@echo "  $(BUILD)/bin/qwen-tts --model $(TINY_MODEL) --codec $(TINY_CODEC) --speaker vivian --max-new 50 --text Hello -o hello.wav"

$(TINY)/%.gguf: $(TINY)/checkpoints $(wildcard convert/*.go core/checkpoint/*.go ggml/gguf/*.go) | commands
	$(BUILD)/bin/qwen-convert --force --type F32 $</$* $@

$(TINY)/checkpoints: $(wildcard tests/golden/*.go tests/golden/models/*/*)
	rm -rf $@ $@.part
	$(GO) run ./tests/golden/mktiny $@.part
	touch $@.part
	mv $@.part $@

test: check go-test race hub-test onnx-test fuzz abi rust python clients-test packaging-test install-test parity ## all tests; CI runs test-vulkan besides
	@echo "make test: all passed"

check: fmt vet lint cross scripts parity-doc ## formatting, vet, lint, builds for other systems, tests of the scripts, docs/parity.md

fmt: ## fail if a file is not formatted
	@files=$$(git ls-files --cached --others --exclude-standard '*.go') && test -n "$$files" || exit 1; \
	  unformatted=$$(gofmt -l $$files) || exit 1; \
	  test -z "$$unformatted" || { echo "not gofmt'ed:" $$unformatted; exit 1; }

vet:
	$(GO) vet ./...

lint: ## golangci-lint if it is installed, else a pinned staticcheck
	@GO='$(GO)' STATICCHECK=$(STATICCHECK) TOOLS=$(CURDIR)/$(BUILD)/tools bash scripts/lint.sh

cross: ## build and vet without cgo for other systems
	@for target in $(CROSS); do \
	  echo "cross: $$target"; \
	  CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) vet ./... || exit 1; \
	  CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build ./... || exit 1; \
	done

scripts: ## the tests of the benchmark's scripts
	@PYTHONDONTWRITEBYTECODE=1 bench/run.sh test

go-test: ggml onnxruntime ## the Go tests
	QWEN_THREADS=1 $(GO) test -timeout $(GOTIME) ./...

race: ggml onnxruntime ## the Go tests of the packages that share data between goroutines, under the race detector
	QWEN_THREADS=1 $(GO) test -race -timeout $(GOTIME) ./cmd/... ./core ./core/audio ./core/sample ./core/voicefile ./hub ./internal/... ./server

onnx-test: $(TINY)/checkpoints ## the exporter of ONNX vocoders writes what the Go tests run on
	@bash scripts/pip-target.sh $(BUILD)/pyonnx onnx==$(PYONNX)
	PYTHONPATH=$(CURDIR)/$(BUILD)/pyonnx bash scripts/test-export-onnx.sh $</tiny-tokenizer-12hz tests/golden/onnx

hub-test: ## our cache of models and Python's huggingface_hub understand each other
	@bash scripts/pip-target.sh $(BUILD)/hfhub huggingface_hub==$(HFHUB)
	QWEN_HF_LIBRARY=$(CURDIR)/$(BUILD)/hfhub $(GO) test -run HuggingFace ./hub

test-vulkan: ggml ## the tests of GPUs, on Mesa's software Vulkan device (mesa-vulkan-drivers); CI runs them
	GO='$(GO)' scripts/test-vulkan.sh

.PHONY: clients-test packaging-test bench-server
bench-server: commands ggml $(TINY_MODEL) $(TINY_CODEC) ## many clients at once against tts-server; MODEL= CODEC= VOICE= name another model, LOAD= flags of bench/serverload
	QWEN_GGML_DIR="$${QWEN_GGML_DIR:-$(CURDIR)/.ggml}" $(GO) run ./bench/serverload -voice '$(or $(VOICE),vivian)' $(LOAD) -- \
	  $(BUILD)/bin/tts-server --model '$(or $(MODEL),$(TINY_MODEL))' --codec '$(or $(CODEC),$(TINY_CODEC))'

packaging-test: commands ## check the container and systemd files as far as that goes without running them
	@bash scripts/lint-packaging.sh $(BUILD)

clients-test: ggml ## OpenAI's Python client, and FFmpeg's decoders, against tts-server
	@bash scripts/pip-target.sh $(BUILD)/clients openai==$(OPENAI) av==$(PYAV) openapi-spec-validator==$(OPENAPI)
	python3 -c 'import sys; sys.path.insert(0, "$(BUILD)/clients"); from openapi_spec_validator import validate; import json; validate(json.load(open("server/openapi.json")))'
	QWEN_CLIENT_PACKAGES=$(CURDIR)/$(BUILD)/clients QWEN_THREADS=1 $(GO) test -count=1 -timeout $(GOTIME) -run ForPython ./server

fuzz: ## fuzz every target for FUZZTIME (default 4000x, that is 4000 inputs; or 10m), at most FUZZLIMIT seconds
	@GO='$(GO)' bash scripts/fuzz.sh $(FUZZTIME) $(FUZZLIMIT)

abi: all ggml onnxruntime tiny ## the C ABI: layout, symbols, C, C++, Python and Rust callers
	bash tests/abi/run.sh $(BUILD) $(TINY_MODEL) $(TINY_CODEC) $(TINY_OTHERS)

rust: lib ggml tiny ## the Rust crates: format, clippy, tests, documentation, packages
	@bash scripts/rust.sh $(BUILD) $(TINY)

rust-bindings: ## renew the Rust bindings after a change of include/qwen.h (needs libclang)
	@bash scripts/rust.sh --bindings

install-test: all ggml tiny ## install, use what was installed (pkg-config, CMake, Cargo, man, completions), uninstall
	@bash tests/install/run.sh $(TINY)

parity-doc: ## fail if docs/parity.md is not what the sources say
	@$(GO) run ./tests/parity -check

parity: all ggml tiny ## the examples of all languages and the command speak the same bytes
	@bash tests/parity/run.sh $(BUILD) $(TINY)

wheel: lib ggml ## build dist/libqwen-*.whl, the Python package with all that it needs
	@bash scripts/python-venv.sh $(BUILD)/python/wheel 'setuptools==84.2.1'
	@$(BUILD)/python/wheel/bin/python scripts/python-wheel.py $(LIBRARY) "$${QWEN_GGML_DIR:-.ggml}" dist

python: wheel commands tiny ## the tests of the Python package
	@bash scripts/python-test.sh $(BUILD) dist $(TINY)

bench: lib ggml ## measure speed and memory on full-size random models; bench/README.md says how and what
	bench/run.sh compare
	bench/run.sh throughput

clean: ## remove what was built (not .ggml, .onnxruntime)
	rm -rf $(BUILD) dist demo.wav

help: ## list the targets
	@echo "make demo   set everything up and speak a sentence to demo.wav"
	@echo "make test   run all tests"
	@echo
	@sed -n 's/^\([a-z-]*\):[^#=]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-13s %s\n", $$1, $$2}'
