//! The Unix socket.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

use super::LocalSocketError;

/// Socket addresses hold about a hundred bytes; longer paths go through a handle of their folder.
const ADDRESS_LIMIT_BYTES: usize = 100;

/// A connected stream whose peer is this very user.
pub type LocalStream = UnixStream;

/// Listens for programs of this user. The socket file goes away with it.
#[derive(Debug)]
pub struct LocalListener {
    inner: UnixListener,
    path: PathBuf,
}

impl LocalListener {
    /// Binds the socket with mode 0600. A socket file that is there already is replaced: the caller holds the lock that
    /// makes it the only owner of the folder, so it is a left-over. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// [`LocalSocketError::System`], also when something other than a socket is in the way.
    pub fn bind(path: &Path) -> Result<Self, LocalSocketError> {
        let fault = |source| system(path, source);
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path).map_err(fault)?,
            Ok(_) => return Err(fault(io::Error::new(io::ErrorKind::AlreadyExists, "something else is there"))),
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(fault(err)),
        }
        let inner = at_short_path(path, |short| UnixListener::bind(short)).map_err(fault)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(fault)?;
        Ok(Self { inner, path: path.to_owned() })
    }

    /// Waits for the next program of this user. Others are turned away without a word.
    ///
    /// # Errors
    /// What the system says, for example when there are no file handles left.
    pub async fn accept(&self) -> io::Result<LocalStream> {
        loop {
            let (stream, _) = self.inner.accept().await?;
            if is_same_user(&stream) {
                return Ok(stream);
            }
            tracing::warn!("a program of another user tried to reach the control socket");
        }
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        // Whoever binds next removes it, too.
        let _ = fs::remove_file(&self.path);
    }
}

/// Connects to a program of this user.
///
/// # Errors
/// [`LocalSocketError`].
pub async fn connect(path: &Path) -> Result<LocalStream, LocalSocketError> {
    let connected = match short_path(path) {
        Ok(short) => UnixStream::connect(short.as_path()).await,
        Err(err) => Err(err),
    };
    match connected {
        Ok(stream) if is_same_user(&stream) => Ok(stream),
        Ok(_) => Err(LocalSocketError::OtherUser { path: path.display().to_string() }),
        Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Err(LocalSocketError::NobodyThere { path: path.display().to_string() })
        }
        Err(err) => Err(system(path, err)),
    }
}

fn is_same_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

/// A path that fits into a socket address, with the folder handle that it may lean on.
struct ShortPath {
    path: PathBuf,
    _folder: Option<std::os::fd::OwnedFd>,
}

impl ShortPath {
    fn as_path(&self) -> &Path {
        &self.path
    }
}

fn short_path(path: &Path) -> io::Result<ShortPath> {
    if path.as_os_str().len() <= ADDRESS_LIMIT_BYTES {
        return Ok(ShortPath { path: path.to_owned(), _folder: None });
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let handles = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let path = Path::new(handles).join(folder.as_raw_fd().to_string()).join(name);
    Ok(ShortPath { path, _folder: Some(folder) })
}

fn at_short_path<T>(path: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let short = short_path(path)?;
    work(short.as_path())
}

fn system(path: &Path, source: io::Error) -> LocalSocketError {
    LocalSocketError::System { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn programs_of_one_user_meet_and_the_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let listener = LocalListener::bind(&path).unwrap();

        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        let (served, client) = tokio::join!(listener.accept(), connect(&path));
        let (mut served, mut client) = (served.unwrap(), client.unwrap());
        client.write_all(b"hi").await.unwrap();
        let mut heard = [0; 2];
        served.read_exact(&mut heard).await.unwrap();

        assert_eq!((mode, &heard), (0o600, b"hi"));
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_left_over_is_replaced_and_anything_else_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());

        let left_over = connect(&path).await;
        assert!(matches!(left_over, Err(LocalSocketError::NobodyThere { .. })));
        drop(LocalListener::bind(&path).unwrap());

        fs::write(&path, "precious").unwrap();
        assert!(matches!(LocalListener::bind(&path), Err(LocalSocketError::System { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_very_long_path_works_too() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120)).join("e".repeat(60));
        fs::create_dir_all(&deep).unwrap();
        let path = deep.join("control.sock");
        let listener = LocalListener::bind(&path).unwrap();

        let (served, client) = tokio::join!(listener.accept(), connect(&path));

        assert!(served.is_ok() && client.is_ok() && path.exists());
    }

    #[tokio::test]
    async fn nobody_there_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let missing = connect(&folder.path().join("control.sock")).await;

        assert!(matches!(missing, Err(LocalSocketError::NobodyThere { .. })));
    }
}
