"""A Debian mirror of tiny packages, signed by a key of its own, served on loopback."""
import functools
import gzip
import hashlib
import http.server
import io
import lzma
import os
import subprocess
import tarfile
import threading
import time
import urllib.parse

DATE = "%a, %d %b %Y %H:%M:%S UTC"


def member(name, data):
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
    assert len(head) == 60
    return head + data + b"\n" * (len(data) % 2)


def tar(entries):
    """entries: name -> bytes, ('link', target), ('hard', target), or None for a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as to:
        for name, what in entries.items():
            info = tarfile.TarInfo("./" + name)
            info.mode, data = 0o4755, None
            if what is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            elif isinstance(what, tuple):
                info.type = tarfile.SYMTYPE if what[0] == "link" else tarfile.LNKTYPE
                info.linkname = what[1]
            else:
                info.size, data = len(what), io.BytesIO(what)
            to.addfile(info, data)
    return out.getvalue()


PACKERS = {".xz": lambda data: lzma.compress(data, preset=0), ".gz": lambda data: gzip.compress(data, mtime=0), "": bytes}


def deb(entries, suffix):
    return packed_deb(tuple(entries.items()), suffix)


@functools.lru_cache
def packed_deb(items, suffix):
    entries = dict(items)
    control = PACKERS[".gz"](tar({"control": b"nobody reads it\n"}))
    return b"!<arch>\n" + member("debian-binary", b"2.0\n") + member("control.tar.gz", control) + \
        member("data.tar" + suffix, PACKERS[suffix](tar(entries)))


class Key:
    """An RSA key of gpg, in a folder of its own."""

    def __init__(self, folder, digest="SHA256"):
        os.makedirs(folder, mode=0o700)
        self.env = dict(os.environ, GNUPGHOME=folder)
        self.digest = digest
        subprocess.run(["gpg", "-q", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key",
                        "test", "rsa2048", "sign", "0"], env=self.env, check=True, stderr=subprocess.DEVNULL)
        self.file = os.path.join(folder, "key.gpg")
        subprocess.run(["gpg", "-q", "--batch", "--export", "-o", self.file], env=self.env, check=True)

    def armored(self):
        path = self.file + ".asc"
        subprocess.run(["gpg", "-q", "--batch", "--yes", "--export", "-a", "-o", path], env=self.env, check=True)
        return path

    def sign(self, text):
        return subprocess.run(["gpg", "-q", "--batch", "--digest-algo", self.digest, "--clearsign"], env=self.env,
                              input=text.encode(), stdout=subprocess.PIPE, check=True).stdout

    def end(self):
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=self.env, check=False)


class Mirror:
    """files: path -> bytes. log: paths that were asked for. delay_s: before each package. reason: of what is not there."""

    def __init__(self):
        self.files, self.log, self.delay_s, self.reason = {}, [], 0, None
        mirror = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = urllib.parse.unquote(self.path)
                mirror.log.append(path)
                data = mirror.files.get(path)
                if path.endswith(".deb"):
                    time.sleep(mirror.delay_s)
                self.send_response(*(200,) if data is not None else (404, mirror.reason))
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                try:
                    self.wfile.write(data or b"")
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/debian"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def put(self, path, data):
        self.files["/debian/" + path] = data

    def suite(self, suite, packages, key, days=7, named=None):
        """packages: (name, version, depends, entries, extra fields)."""
        index = ""
        for name, version, depends, entries, more in packages:
            data = deb(entries, more.pop("suffix", ".xz"))
            path = f"pool/main/{name}_{version.split(':')[-1]}_amd64.deb"
            self.put(path, data)
            fields = {"Package": name, "Version": version, "Depends": depends, "Filename": path, "Size": len(data),
                      "SHA256": hashlib.sha256(data).hexdigest(), "Installed-Size": 40, "Description": "x\n more", **more}
            index += "".join(f"{k}: {v}\n" for k, v in fields.items() if v) + "\n"
        packed = lzma.compress(index.encode())
        self.put(f"dists/{suite}/main/binary-amd64/Packages.xz", packed)
        now = time.time()
        self.release = (f"Origin: Test\nSuite: {named or suite}\nCodename: {named or suite}\n"
                        f"Date: {time.strftime(DATE, time.gmtime(now))}\n"
                        f"Valid-Until: {time.strftime(DATE, time.gmtime(now + days * 86400))}\n"
                        f"MD5Sum:\n 00 {len(packed)} main/binary-amd64/Packages.xz\n"
                        f"SHA256:\n {hashlib.sha256(packed).hexdigest()} {len(packed)} main/binary-amd64/Packages.xz\n")
        self.put(f"dists/{suite}/InRelease", key.sign(self.release) if key else self.release.encode())
