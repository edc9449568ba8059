# Sextant. `make help` lists the targets.
#
# One Makefile, no configure. Variants of the library are built side by side:
#   build/           what is installed
#   build/asan/      AddressSanitizer and UndefinedBehaviorSanitizer
#   build/tsan/      ThreadSanitizer
#   build/clang/     clang's AddressSanitizer and UndefinedBehaviorSanitizer
#   build/fuzzer/    the same for fuzzers

VERSION := 0.3.0
SOVERSION := 1
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DESTDIR ?=

CC ?= cc
OPT ?= -O3
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
# Answers must not depend on how a compiler fuses multiplications. Lines for debuggers and profilers, but
# not every variable of every inlined walk: those take a sixth of the time. CFLAGS=-g has them.
CFLAGS_ALL = -std=gnu11 $(OPT) -g1 $(WARN) -fstack-clash-protection -Iinclude -Isrc -fPIC -pthread \
             -ffp-contract=off $(if $(LAB),-DSX_LAB) $(CFLAGS)
LIBS := -lxxhash -pthread -ldl
# The tool also unpacks files, where zlib is; ZLIB= leaves it out.
ZLIB ?= $(shell echo '\#include <zlib.h>' | $(CC) -E - >/dev/null 2>&1 && echo 1)
TOOL_LIBS := $(LIBS) $(if $(ZLIB),-lz) -lm

# The CUDA backend is built where nvcc is; NVCC= leaves it out. CUDA_ARCH is
# what machine code is made for: the GPUs of this machine, if it has any; "80 90"
# or the like, if it says so; "all" for releases, which takes five times as long.
# PTX of the last serves newer GPUs. Without a GPU and a word it is 90, and PTX
# of 75 serves all others.
NVCC ?= $(shell command -v nvcc 2>/dev/null)
CUDA_ARCH ?= $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
                     sed -n 's/^\([0-9][0-9]*\)\.\([0-9]\)$$/\1\2/p' | sort -nu)
CUDA_ASKED := $(strip $(CUDA_ARCH))
CUDA_MACHINE := $(if $(CUDA_ASKED),$(patsubst all,75 80 86 89 90,$(CUDA_ASKED)),90)
CUDA_PTX := $(if $(CUDA_ASKED),$(lastword $(CUDA_MACHINE)),75)
CUDA_CODE := $(foreach a,$(CUDA_MACHINE),-gencode arch=compute_$(a),code=sm_$(a)) \
             -gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
# What the backend needs of the library, inside it and hidden.
CUDA_PARTS := $(addprefix src/,base/alloc.c base/fork.c base/machine.c base/pool.c \
                base/tick.c base/size.c base/status.c base/text.c base/thread.c keys/string_groups.c keys/types.c \
                gpu/gpu_tune.c place/ranges.c) \
              $(filter-out %_cpu.c,$(wildcard src/family/*.c src/family/*/*.c))

B := build
LIB_SRC := $(wildcard src/*/*.c src/*/*/*.c)
CLI_SRC := $(wildcard cli/*.c)
# The bench has the tool's ways to read, write and generate.
BENCH_SRC := $(filter-out bench/bench_sort.c bench/climbs.c bench/prefixes.c \
               bench/string_gets.c,$(wildcard bench/*.c)) \
             $(filter-out cli/sextant.c cli/cmd_%.c cli/matrix.c,$(CLI_SRC))
TESTS := $(patsubst test/%.c,%,$(wildcard test/test_*.c))
SOAK := $(wildcard test/soak*.c)
TEST_HELP := $(filter-out test/test_% $(SOAK),$(wildcard test/*.c))
FUZZERS := load spec

.PHONY: all help demo examples test test-more prove install uninstall clean bench gpu-bench papers climbs prefixes string-gets peers report deps deps-test deps-more FORCE
all: $(B)/libsextant.a $(B)/libsextant.so $(B)/sextant $(B)/sextant-bench \
     $(if $(NVCC),$(B)/libsextant-cuda.so $(B)/libsextant-bench-cuda.so $(B)/sextant_device.cuh)

help:
	@echo "make            library and tool in build/, and where nvcc is the CUDA backend:"
	@echo "                for this machine's GPU; CUDA_ARCH=all for all, NVCC= leaves it out"
	@echo "make demo       install what is missing, build, show it at work: on the CPU, and"
	@echo "                then, if there is one, on the GPU"
	@echo "make examples   programs to copy from, in build/examples/; where nvcc is, build/own_kernel"
	@echo "make test       install what is missing, build, run the tests of every change"
	@echo "make test-more  clang's sanitizers, the full matrix, fuzzers, the soak test, proofs"
	@echo "make prove      that no walk reads outside its sections, by CBMC (doc/PROVE.md)"
	@echo "make faults     faults are planted, one at a time: which tests notice? About an hour"
	@echo "make soak       random work on all devices at once, for SOAK_S=$(SOAK_S) seconds"
	@echo "make gpu-streams  build/gpu-streams, a part of gpu-test, where nvcc is"
	@echo "make gpu-test   build, run the tests of kernels on the GPU of this machine"
	@echo "make bench      the figures of the CPU, into bench/results/"
	@echo "make gpu-bench  those of a GPU, into bench/results/"
	@echo "make report     doc/PERFORMANCE.md, doc/papers/ and the README's table, out of these files"
	@echo "make papers     figures of papers on a GPU, into bench/results/; make peers first"
	@echo "make peers      build/peers/: B+-trees of others to compare with"
	@echo "make lab        build/lab/: with walks and kernels to compare with (doc/LAB.md)"
	@echo "make python     the Python package as a folder: PYTHONPATH=build/python"
	@echo "make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)"

# ---- library and tool -------------------------------------------------------

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# The folder of libraries is compiled in: another one, another object.
$(B)/libdir: FORCE
	@mkdir -p $(@D)
	@echo '$(abspath $(LIBDIR))' | cmp -s - $@ || echo '$(abspath $(LIBDIR))' >$@
KNOWS_LIBDIR := $(B)/src/place/backend_load.o $(B)/bench/bench_kernels.o
$(KNOWS_LIBDIR): $(B)/libdir
$(KNOWS_LIBDIR): CFLAGS_ALL += -DSX_LIBDIR='"$(abspath $(LIBDIR))"'

# Kernels of families: for the emulator they are C.
FAMILY_GPU := $(wildcard src/family/*/*.cu)
SIMT_OBJ := $(FAMILY_GPU:%.cu=$(B)/simt/%.o)
# Nobody waits for the emulator but tests, and those wait for the compiler, too.
$(B)/simt/%.o: CFLAGS_ALL += -O1
$(B)/simt/%.o: %.cu
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -x c -c $< -o $@

LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(SIMT_OBJ)

$(B)/libsextant.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/libsextant.so.$(SOVERSION): $(LIB_OBJ) sextant.map
	$(CC) $(CFLAGS_ALL) -shared -Wl,-soname,libsextant.so.$(SOVERSION) \
	    -Wl,--version-script=sextant.map -Wl,--no-undefined $(filter %.o,$^) -o $@ $(LDFLAGS) $(LIBS)

$(B)/libsextant.so: $(B)/libsextant.so.$(SOVERSION)
	ln -sf $(<F) $@

$(B)/sextant: $(CLI_SRC:%.c=$(B)/%.o) $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) $(TOOL_LIBS)

$(B)/bench/%.o: CFLAGS_ALL += -Icli
$(B)/cli/input.o: CFLAGS_ALL += $(if $(ZLIB),-DSX_ZLIB)

$(B)/sextant-bench: $(BENCH_SRC:%.c=$(B)/%.o) $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) $(TOOL_LIBS)

# The same for the GPUs that machine code is made for.
$(B)/cuda-code: FORCE
	@mkdir -p $(@D)
	@echo '$(CUDA_MACHINE), $(CUDA_PTX)' | cmp -s - $@ || echo '$(CUDA_MACHINE), $(CUDA_PTX)' >$@
$(B)/%.o: %.cu $(B)/cuda-code
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O3 $(CUDA_CODE) --threads 0 -fmad=false --default-stream per-thread \
	    $(if $(LAB),-DSX_LAB) -Xcompiler -fPIC,-fvisibility=hidden -Iinclude -Isrc -MMD -MP \
	    -c $< -o $@

$(B)/libsextant-cuda.so: $(B)/src/gpu/gpu_cuda.o $(B)/src/gpu/sort_cuda.o $(FAMILY_GPU:%.cu=$(B)/%.o) \
                         $(CUDA_PARTS:%.c=$(B)/%.o) src/gpu/backend.map
	$(NVCC) $(CUDA_CODE) --cudart static -shared $(filter %.o,$^) -o $@ \
	    -Xlinker --version-script=src/gpu/backend.map -Xlinker --no-undefined

# What the bench holds a GPU's speed against; the sort is the backend's.
$(B)/libsextant-bench-cuda.so: $(B)/bench/bench_kernels_cuda.o $(B)/src/gpu/sort_cuda.o \
                               bench/bench_kernels.map
	$(NVCC) $(CUDA_CODE) --cudart static -shared $(filter %.o,$^) -o $@ \
	    -Xlinker --version-script=bench/bench_kernels.map

# A library and a backend with all options of doc/LAB.md.
.PHONY: lab
lab:
	$(MAKE) LAB=1 B=$(B)/lab all

# What kernels of a user's own include, in one file.
$(B)/sextant_device.cuh: src/gpu/device_header.h scripts/device_header.py \
                         $(wildcard src/gpu/*.h src/family/*.h src/family/*.def src/family/*/*.def src/family/*/*.h src/keys/*.h)
	@mkdir -p $(@D)
	python3 scripts/device_header.py $< $@

EXAMPLES := $(patsubst examples/%.c,$(B)/examples/%,$(wildcard examples/*.c))
examples: $(EXAMPLES) $(if $(NVCC),$(B)/own_kernel)

# As a user's own program: nothing but the public header.
$(EXAMPLES): $(B)/examples/%: examples/%.c include/sextant.h $(B)/libsextant.a
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) -Iinclude $< $(B)/libsextant.a -o $@ $(LIBS) -lm

$(B)/own_kernel: examples/own_kernel.cu examples/own_kernel.h $(B)/sextant_device.cuh \
                 $(B)/libsextant.a
	$(NVCC) -std=c++14 -O3 $(CUDA_CODE) -Iinclude -I$(B) $< $(B)/libsextant.a -o $@ \
	    -lxxhash -lpthread -ldl

# What only a GPU can show: streams, threads and memory of a program's own.
.PHONY: gpu-streams
gpu-streams: $(if $(NVCC),$(B)/gpu-streams)

$(B)/gpu-streams: test/gpu_streams.cu include/sextant.h $(B)/libsextant.a
	$(NVCC) -std=c++17 -O3 $(CUDA_CODE) -Iinclude $< $(B)/libsextant.a -o $@ \
	    -lxxhash -lpthread -ldl

# ---- tests ---------------------------------------------------------------------

$(B)/test/bin/%: $(B)/test/%.o $(TEST_HELP:%.c=$(B)/%.o) $(B)/libsextant.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) -lcmocka $(LIBS) -lm

# Everything at once, for a while: see test/soak.c.
$(B)/test/bin/soak: $(SOAK:%.c=$(B)/%.o) $(TEST_HELP:%.c=$(B)/%.o) $(B)/libsextant.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) -lcmocka $(LIBS) -lm

SOAK_S ?= 60
.PHONY: soak
soak: $(B)/test/bin/soak
	SOAK_S=$(SOAK_S) $<

$(B)/test/test_device_header.o: $(B)/sextant_device.cuh
$(B)/test/test_device_header.o: CFLAGS_ALL += -I$(B) -Iexamples

$(B)/fuzz/replay_%: $(B)/fuzz/fuzz_%.o $(B)/fuzz/replay.o $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) $(LIBS) -lm

# Everything test.sh runs, in this variant.
.PRECIOUS: $(B)/%.o
.PHONY: test-programs
test-programs: $(TESTS:%=$(B)/test/bin/%) $(FUZZERS:%=$(B)/fuzz/replay_%)

# Lines suffice for reports of sanitizers.
SANITIZE = OPT=-O1 CFLAGS="-g1 -fno-sanitize-recover=all -fno-omit-frame-pointer -fsanitize=$(1)"
COMMA := ,
# Those with threads.
TSAN_TESTS := test_balance test_buckets test_collect test_discovery test_fork test_hybrid test_pgm test_pool test_pools test_threads test_tick test_versions
.PHONY: test-build tsan-tests build-plain build-asan build-tsan build-clang build-python-asan
# All that test.sh runs. One make of both variants keeps every processor busy.
test-build: build-plain build-asan
tsan-tests:
	@echo $(TSAN_TESTS)
build-plain:
	$(MAKE) all test-programs examples gpu-streams climbs prefixes string-gets
build-asan:
	$(MAKE) LAB=1 B=$(B)/asan $(call SANITIZE,address$(COMMA)undefined) NVCC= test-programs
build-tsan:
	$(MAKE) B=$(B)/tsan $(call SANITIZE,thread) NVCC= $(TSAN_TESTS:%=$(B)/tsan/test/bin/%)
build-python-asan:
	$(MAKE) LAB=1 B=$(B)/asan $(call SANITIZE,address$(COMMA)undefined) NVCC= python
build-clang:
	$(MAKE) B=$(B)/clang CC=clang \
	    $(call SANITIZE,address$(COMMA)undefined$(COMMA)local-bounds) NVCC= test-programs \
	    $(B)/clang/sextant $(B)/clang/sextant-bench

test: deps-test
	@scripts/test.sh

test-more: deps-more
	@scripts/test_more.sh

# That walks read inside their sections, and end, whatever the bytes: by a checker, CBMC 6.
CBMC ?= cbmc
prove:
	@CBMC='$(CBMC)' python3 -B scripts/prove.py

# Whether tests notice what test/faults breaks; FAULTS="i32-sign f64-zero" are some of it.
.PHONY: faults
faults: deps-test
	@python3 -B scripts/plant.py $(FAULTS)

# The same with kernels on the GPU of this machine, and what only a GPU can do.
.PHONY: gpu-test
gpu-test:
	@scripts/gpu_test.sh

demo: deps
	@scripts/demo.sh

deps deps-test deps-more:
	@scripts/deps.sh $@

# The seeds that are replayed; those that have not changed are written as they are.
$(B)/fuzz/make_corpus: $(B)/fuzz/make_corpus.o $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) $(LIBS) -lm

.PHONY: corpus
corpus: $(B)/fuzz/make_corpus
	$< fuzz/corpus/load fuzz/corpus/spec

# A fuzzer proper: make fuzz-load, then build/fuzz-load fuzz/corpus/load
.PHONY: fuzz-library
fuzz-library:
	$(MAKE) B=$(B)/fuzzer CC=clang \
	    $(call SANITIZE,fuzzer-no-link$(COMMA)address$(COMMA)undefined) NVCC= $(B)/fuzzer/libsextant.a
fuzz-%: fuzz-library
	clang -std=gnu11 -g -O1 -fno-sanitize-recover=all -fsanitize=fuzzer,address,undefined \
	    -Iinclude -Isrc fuzz/fuzz_$*.c $(B)/fuzzer/libsextant.a -o $(B)/$@ $(LIBS)

bench: all
	@bench/run.sh

$(B)/bench-sort: bench/bench_sort.c $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LDFLAGS) $(LIBS)

# For bench/papers_grt.sh.
climbs: $(B)/climbs
$(B)/climbs: bench/climbs.c bench/alone.h $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $(filter-out %.h,$^) -o $@ $(LDFLAGS) $(LIBS)

# How fast a device finds keys that begin with some bits.
prefixes: $(B)/prefixes
$(B)/prefixes: bench/prefixes.c bench/alone.h $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $(filter-out %.h,$^) -o $@ $(LDFLAGS) $(LIBS)

# How fast a device finds strings.
string-gets: $(B)/string_gets
$(B)/string_gets: bench/string_gets.c bench/alone.h $(B)/libsextant.a
	$(CC) $(CFLAGS_ALL) $(filter-out %.h,$^) -o $@ $(LDFLAGS) $(LIBS)

# What bench/papers.sh and bench/peers.sh compare with: a B+-tree of libtlx-dev or,
# where that is not packaged, of libabsl-dev; and absl::btree_map of libabsl-dev,
# which is left out where that is missing; so is JudyL of libjudy-dev. TLX=DIR and ABSL=DIR have the headers
# elsewhere.
peers: $(B)/peers/absl_btree_map $(B)/peers/judyl $(B)/peers/btree_map $(B)/peers/strings
$(B)/peers/judyl: bench/peers/btree_map.cc
	@mkdir -p $(@D)
	@if echo '#include <Judy.h>' | $(CXX) -x c++ -E - >/dev/null 2>&1; then \
	    $(CXX) -O3 -std=c++17 -Wall -Wextra -DPEER_JUDY -static-libstdc++ -static-libgcc $< -o $@ \
	        -lJudy; \
	else \
	    echo "judyl is left out, for want of the headers of Judy: apt-get install libjudy-dev" >&2; \
	fi
$(B)/peers/strings: bench/peers/strings.cc include/sextant.h $(B)/libsextant.a
	@mkdir -p $(@D)
	$(CXX) -O2 -std=c++17 -Wall -Wextra -Iinclude $< $(B)/libsextant.a -o $@ $(LDFLAGS) $(LIBS)
$(B)/peers/absl_btree_map: bench/peers/btree_map.cc
	@mkdir -p $(@D)
	@if echo '#include <absl/container/btree_map.h>' | \
	        $(CXX) -std=c++17 $(if $(ABSL),-I$(ABSL)) -x c++ -E - >/dev/null 2>&1; then \
	    $(CXX) -O3 -std=c++17 -Wall -Wextra $(if $(ABSL),-isystem $(ABSL)) -DPEER_ABSL_MAP \
	        -static-libstdc++ -static-libgcc $< -o $@; \
	else \
	    echo "absl_btree_map is left out, for want of the headers of abseil: apt-get install libabsl-dev" >&2; \
	fi
$(B)/peers/btree_map: bench/peers/btree_map.cc
	@mkdir -p $(@D)
	@$(CXX) -O3 -std=c++17 -Wall -Wextra $(if $(TLX),-I$(TLX)) $(if $(ABSL),-isystem $(ABSL)) \
	    -static-libstdc++ -static-libgcc $< -o $@ || \
	    { echo "This needs the headers of tlx or abseil: apt-get install libtlx-dev, or libabsl-dev" >&2; exit 1; }

# The figures of papers: of two by default; FIGURES=hb-plus are those of a third,
# FIGURES="gpu-pgm-fig4 g-learned-table1" some of them.
papers: lab
	@bench/papers.sh $(or $(FIGURES),all)

# On a machine with a GPU; TABLES="A B C" are the parts of it.
gpu-bench: lab
	@bench/gpu.sh $(TABLES)

# Documents with figures, out of bench/results/ and their templates.
report:
	@python3 -B bench/report.py

# ---- Python ------------------------------------------------------------------
#
# The package as a folder, build/python: PYTHONPATH=build/python python3. setup.py makes a
# wheel of that folder. xxHash and zlib are inside the binaries where their static
# libraries can be linked into them (PY_XXHASH=-lxxhash PY_ZLIB=-lz where they can't).

PYTHON ?= python3
PY := $(B)/python/sextant
PY_XXHASH ?= -l:libxxhash.a
PY_ZLIB ?= -l:libz.a
PY_SRC := $(wildcard python/ext/*.c)
PY_FILES := $(patsubst python/sextant/%,$(PY)/%,$(wildcard python/sextant/*.py python/sextant/*.pyi python/sextant/py.typed))
PY_LINK = $(CFLAGS_ALL) -Wl,--gc-sections -s

# One binary serves 3.11 and later. Before, and without a GIL, it serves one version, whose
# name it has.
PY_SUFFIX := import sys, sysconfig as s; \
    one = sys.version_info < (3, 11) or s.get_config_var("Py_GIL_DISABLED"); \
    print(s.get_config_var("EXT_SUFFIX") if one else ".abi3.so")

.PHONY: python
python: $(B)/python/core.so $(PY)/sextant $(PY_FILES) $(if $(NVCC),$(PY)/libsextant-cuda.so)
	@cp $< $(PY)/_core$$($(PYTHON) -c '$(PY_SUFFIX)')

$(PY_FILES): $(PY)/%: python/sextant/%
	@mkdir -p $(@D)
	cp $< $@

$(B)/python/ext/%.o: python/ext/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -I"$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')" \
	    -MMD -MP -c $< -o $@

$(B)/python/core.so: $(PY_SRC:python/%.c=$(B)/python/%.o) $(B)/libsextant.a python/ext/exports.map
	@mkdir -p $(@D)
	$(CC) $(PY_LINK) -shared -Wl,--version-script=python/ext/exports.map $(filter %.o %.a,$^) \
	    -o $@ $(LDFLAGS) $(PY_XXHASH) -pthread -ldl

$(PY)/sextant: $(CLI_SRC:%.c=$(B)/%.o) $(B)/libsextant.a
	@mkdir -p $(@D)
	$(CC) $(PY_LINK) $^ -o $@ $(LDFLAGS) $(PY_XXHASH) $(if $(ZLIB),$(PY_ZLIB)) -pthread -ldl -lm

$(PY)/libsextant-cuda.so: $(B)/libsextant-cuda.so
	@mkdir -p $(@D)
	cp $< $@

# ---- installing --------------------------------------------------------------

install: all $(B)/sextant_device.cuh
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/sextant \
	    $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 \
	    $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	install -m 644 include/sextant.h $(B)/sextant_device.cuh $(DESTDIR)$(INCLUDEDIR)/
	install -m 644 $(B)/libsextant.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(B)/libsextant.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libsextant.so.$(VERSION)
	ln -sf libsextant.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libsextant.so.$(SOVERSION)
	ln -sf libsextant.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libsextant.so
	for f in libsextant-cuda.so libsextant-bench-cuda.so; do \
	    [ ! -f $(B)/$$f ] || install -m 755 $(B)/$$f $(DESTDIR)$(LIBDIR)/ || exit 1; done
	install -m 755 $(B)/sextant $(B)/sextant-bench $(DESTDIR)$(BINDIR)/
	install -m 644 doc/sextant.1 $(DESTDIR)$(MANDIR)/man1/
	install -m 644 doc/sextant.3 $(DESTDIR)$(MANDIR)/man3/
	install -m 644 completion/sextant.bash $(DESTDIR)$(BASHDIR)/sextant
	install -m 644 completion/_sextant $(DESTDIR)$(ZSHDIR)/
	install -m 644 completion/sextant.fish $(DESTDIR)$(FISHDIR)/
	for f in sextant.pc:pkgconfig/sextant.pc \
	         sextant-config.cmake:cmake/sextant/sextant-config.cmake \
	         sextant-config-version.cmake:cmake/sextant/sextant-config-version.cmake; do \
	    sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	        -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' $${f%%:*}.in > $(DESTDIR)$(LIBDIR)/$${f#*:}; done

uninstall:
	rm -f $(DESTDIR)$(INCLUDEDIR)/sextant.h $(DESTDIR)$(INCLUDEDIR)/sextant_device.cuh \
	    $(DESTDIR)$(LIBDIR)/libsextant.* $(DESTDIR)$(LIBDIR)/libsextant-cuda.so \
	    $(DESTDIR)$(LIBDIR)/libsextant-bench-cuda.so \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/sextant.pc $(DESTDIR)$(BINDIR)/sextant \
	    $(DESTDIR)$(BINDIR)/sextant-bench \
	    $(DESTDIR)$(MANDIR)/man1/sextant.1 $(DESTDIR)$(MANDIR)/man3/sextant.3 \
	    $(DESTDIR)$(BASHDIR)/sextant $(DESTDIR)$(ZSHDIR)/_sextant $(DESTDIR)$(FISHDIR)/sextant.fish
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/sextant

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
