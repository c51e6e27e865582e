"""What huggingface_hub does with the cache of the test. Usage: hf.py download NAME… | scan | snapshot | lock ETAG"""

import os
import sys

from huggingface_hub import constants, hf_hub_download, scan_cache_dir, snapshot_download
from huggingface_hub.utils import WeakFileLock

REPO = "someone/Qwen3-TTS-GGUF"

what, args = sys.argv[1], sys.argv[2:]
if what == "download":
    for name in args:
        print(hf_hub_download(REPO, name))
elif what == "snapshot":
    print(snapshot_download(REPO))
elif what == "scan":
    info = scan_cache_dir()
    for warning in info.warnings:
        print("warning:", warning)
    for repo in info.repos:
        for revision in repo.revisions:
            for file in sorted(revision.files, key=lambda f: f.file_name):
                print(repo.repo_id, revision.commit_hash, sorted(revision.refs), file.file_name, file.size_on_disk)
elif what == "lock":
    path = os.path.join(constants.HF_HUB_CACHE, ".locks", "models--" + REPO.replace("/", "--"), args[0] + ".lock")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with WeakFileLock(path):
        print("locked", flush=True)
        sys.stdin.read()
