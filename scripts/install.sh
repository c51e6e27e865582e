#!/usr/bin/env bash
# Installs what `make` has built, or takes it away again; called by `make install` and `make uninstall`.
#
#   PREFIX      /usr/local       where it will be used from
#   DESTDIR     (none)           where it is put meanwhile, for packages: DESTDIR/PREFIX/…
#   LIBDIR      lib              below PREFIX, or absolute: lib64, lib/x86_64-linux-gnu …
#   INCLUDEDIR  include          below PREFIX, or absolute
#   GGML        .ggml            folder of ggml's shared libraries, which go to PREFIX/lib/libqwen, where libqwen looks;
#                                empty: none are installed (the system has them, or QWEN_GGML_DIR will name them)
#
# PREFIX/share/libqwen/manifest lists what was installed; uninstalling removes that and no more, and folders that
# installing has made and that are empty again. Installing over an older version uninstalls that first.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
: "${LIBVERSION:?}" "${SOVERSION:?}" "${COMMANDS:?}"
prefix=${PREFIX:-/usr/local}
destdir=${DESTDIR:-}
ggml=${GGML-.ggml}

die() {
  echo "$action: $*" >&2
  exit 1
}

action=${1:-}
[[ $action == install || $action == uninstall ]] || { echo "usage: $0 install|uninstall" >&2; exit 2; }
[[ $prefix == /* ]] || die "PREFIX=$prefix: must be absolute"
[[ $prefix != *[[:space:]]* ]] || die "PREFIX=$prefix: white space does not go well with pkg-config"
[[ -z $destdir || $destdir == /* ]] || destdir=$PWD/$destdir
prefix=$(realpath -sm "$prefix")
below_prefix() { [[ $1 == /* ]] && realpath -sm "$1" || realpath -sm "$prefix/$1"; }
libdir=$(below_prefix "${LIBDIR:-lib}")
includedir=$(below_prefix "${INCLUDEDIR:-include}")
private=$prefix/lib/libqwen # ggml/load.go looks here
manifest=$prefix/share/libqwen/manifest

take_away() { # MANIFEST: removes what it lists
  local kind path files=() dirs=()
  while read -r kind path; do
    [[ $path == /* ]] || die "$1: damaged"
    case $kind in
    file) files+=("$path") ;;
    dir) dirs=("$path" "${dirs[@]}") ;; # the innermost first
    *) die "$1: damaged" ;;
    esac
  done <"$1"
  for path in "${files[@]}"; do rm -f -- "$destdir$path"; done
  for path in "${dirs[@]}"; do
    rmdir -- "$destdir$path" 2>/dev/null || true # others' files are in it
  done
}

if [[ $action == uninstall ]]; then
  [[ -f $destdir$manifest ]] || die "$destdir$manifest is missing: nothing is installed there"
  take_away "$destdir$manifest"
  echo "uninstalled from $destdir$prefix"
  exit
fi

# ---- What there is to install ----

for file in "$build/libqwen.so.$LIBVERSION" $(printf "$build/bin/%s " $COMMANDS) "$build/share/man"; do
  [[ -e $file ]] || die "${file#"$root/"} is missing: run \`make\` first"
done
if [[ -n $ggml ]]; then
  ggml=$(cd "$root" && realpath -sm "$ggml")
  compgen -G "$ggml/libggml-base*" >/dev/null ||
    die "no ggml in $ggml: run \`make ggml\` first, or name another folder by GGML=, or install none with an empty GGML="
fi
[[ ! -f $destdir$manifest ]] || take_away "$destdir$manifest"

# ---- Copying ----

entries=$(mktemp)
finished=
cleanup() {
  if [[ -z $finished ]]; then
    take_away "$entries"
    echo "install: failed; what was copied is gone again" >&2
  fi
  rm -f "$entries"
}
trap cleanup EXIT

make_dir() { # DIR: with those above it; notes those that were not there
  [[ -d $destdir$1 ]] && return
  [[ $1 == / ]] || make_dir "$(dirname "$1")"
  mkdir -- "$destdir$1"
  chmod 755 "$destdir$1"
  echo "dir $1" >>"$entries"
}

put() { # MODE FILE PATH
  make_dir "$(dirname "$3")"
  install -m "$1" -- "$2" "$destdir$3"
  echo "file $3" >>"$entries"
}

link() { # TARGET PATH
  make_dir "$(dirname "$2")"
  ln -sfn -- "$1" "$destdir$2"
  echo "file $2" >>"$entries"
}

relative() { realpath -sm --relative-to="$1" "$2"; }

fill() { # TEMPLATE PATH: replaces @NAME@
  local made
  made=$(mktemp)
  sed -e "s|@PREFIX@|$pc_prefix|; s|@INCLUDEDIR@|$pc_includedir|; s|@LIBDIR@|$pc_libdir|" \
    -e "s|@VERSION@|$LIBVERSION|g; s|@SOVERSION@|$SOVERSION|g; s|@MAJOR@|${LIBVERSION%%.*}|g" \
    -e "s|@CMAKE_TO_LIBDIR@|$(relative "$libdir/cmake/libqwen" "$libdir")|" \
    -e "s|@CMAKE_TO_INCLUDEDIR@|$(relative "$libdir/cmake/libqwen" "$includedir")|" "$root/packaging/$1" >"$made"
  put 644 "$made" "$2"
  rm -f "$made"
}

put 755 "$build/libqwen.so.$LIBVERSION" "$libdir/libqwen.so.$LIBVERSION"
link "libqwen.so.$LIBVERSION" "$libdir/libqwen.so.$SOVERSION"
link "libqwen.so.$SOVERSION" "$libdir/libqwen.so"
put 644 "$root/include/qwen.h" "$includedir/qwen.h"

# libqwen.pc follows where the folder is moved, as long as all of it lies below PREFIX.
pc_prefix=$prefix pc_libdir=$libdir pc_includedir=$includedir
if [[ $libdir == "$prefix"/* ]]; then
  pc_prefix="\${pcfiledir}/$(relative "$libdir/pkgconfig" "$prefix")"
  pc_libdir="\${prefix}/$(relative "$prefix" "$libdir")"
fi
if [[ $includedir == "$prefix"/* ]]; then
  pc_includedir="\${prefix}/$(relative "$prefix" "$includedir")"
fi
fill libqwen.pc.in "$libdir/pkgconfig/libqwen.pc"
fill libqwen-config.cmake.in "$libdir/cmake/libqwen/libqwen-config.cmake"
fill libqwen-config-version.cmake.in "$libdir/cmake/libqwen/libqwen-config-version.cmake"

for command in $COMMANDS; do
  put 755 "$build/bin/$command" "$prefix/bin/$command"
done
while read -r file; do
  put 644 "$build/share/$file" "$prefix/share/$file"
done < <(cd "$build/share" && find . -type f -printf '%P\n' | LC_ALL=C sort)
put 644 "$root/LICENSE" "$prefix/share/doc/libqwen/LICENSE"

if [[ -n $ggml ]]; then
  for file in "$ggml"/libggml*; do
    put 755 "$file" "$private/${file##*/}"
  done
  [[ ! -f $ggml/LICENSE ]] || put 644 "$ggml/LICENSE" "$prefix/share/doc/libqwen/LICENSE.ggml"
fi

make_dir "$(dirname "$manifest")"
echo "file $manifest" >>"$entries"
install -m 644 "$entries" "$destdir$manifest"
finished=1

echo "installed in $destdir$prefix"
if [[ -z $destdir && $EUID == 0 ]]; then
  ldconfig 2>/dev/null || true
fi
