//! Published networks for `expert` and `siamese`: fetched by `curl`, checked, and kept in the user's data folder.

use std::env;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use crate::Params;
use crate::error::{Error, Result};

/// The repository at one commit, as a page and as files.
const PAGES: &str =
    "https://github.com/HonglinChu/SiamTrackers/blob/248663fde6bf7c40190cf10ee396d5662919ecd3/NanoTrack";
const FILES: &str =
    "https://raw.githubusercontent.com/HonglinChu/SiamTrackers/248663fde6bf7c40190cf10ee396d5662919ecd3/NanoTrack";

/// The two networks of a siamese tracker, as others have published them.
#[derive(Debug)]
pub struct Model {
    name: &'static str,
    /// The folder in the repository's `models`, and the names of backbone and head there.
    folder: &'static str,
    files: [&'static str; 2],
    backbone: Sum,
    head: Sum,
    /// Size and checksum of the backbone after [`free_size`].
    free: Sum,
    /// `siamese.toml` with the publisher's values; empty where they are the defaults.
    recipe: &'static str,
}

/// Size and checksum of a file.
#[derive(Debug)]
struct Sum {
    bytes: usize,
    sha256: &'static str,
}

/// All models, the newest first.
static MODELS: [Model; 3] = [
    Model {
        name: "nanotrack-v3",
        folder: "nanotrackv3",
        files: ["nanotrack_backbone.onnx", "nanotrack_head.onnx"],
        backbone: Sum { bytes: 1_431_635, sha256: "50be1320abf9384fd3479ea829f95e244cf3f3838190c5ab60c750fb8c1ce828" },
        head: Sum { bytes: 1_183_740, sha256: "75357903be3f4817c965af16cb5a11fd32b1467f597a408405a98635ac63f61d" },
        free: Sum { bytes: 1_431_637, sha256: "8b8c6a204f1bd75eea2df0aea15055eb2139d14bce41ab30794869fa1028caa2" },
        recipe: "",
    },
    Model {
        name: "nanotrack-v2",
        folder: "nanotrackv2",
        files: ["nanotrack_backbone_sim.onnx", "nanotrack_head_sim.onnx"],
        backbone: Sum { bytes: 1_056_849, sha256: "530bdd0cd00f19afab79a863e71ba71e3312395a5dc9151af675082bdaaa2fc4" },
        head: Sum { bytes: 726_198, sha256: "0d8c0637be849f092cc7236cae02e55c8b9455ebe37ba50601d6115db4247cd9" },
        free: Sum { bytes: 1_049_698, sha256: "792f337c4d80d5d339824ff392c8a6d0bbd334e7447f364779731a838c9445d9" },
        recipe: "penalty = 0.150\nwindow = 0.490\nrate = 0.385\n",
    },
    Model {
        name: "nanotrack-v1",
        folder: "nanotrackv1",
        files: ["nanotrack_backbone_sim.onnx", "nanotrack_head_sim.onnx"],
        backbone: Sum { bytes: 767_819, sha256: "f6fdf311bdc846510c2f9f0b2b8159c7e0cf5d80ed18c9079faeb32db460cba9" },
        head: Sum { bytes: 392_202, sha256: "4c987e5121cc400b6175f2168c30c84857864fe36d5e7a14df0c27e8e5b9540d" },
        free: Sum { bytes: 763_877, sha256: "f840333e076cdf34591a6046d7cede598c0d3e183cfe41e56bc3e90c7ceb16e7" },
        recipe: "penalty = 0.148\nwindow = 0.462\nrate = 0.390\n",
    },
];

impl Model {
    /// All models that can be installed, the newest first.
    pub fn all() -> &'static [Model] {
        &MODELS
    }

    /// The model of this name.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the names that there are.
    pub fn named(name: &str) -> Result<&'static Self> {
        let names = || MODELS.each_ref().map(|model| model.name).join(", ");
        let found = MODELS.iter().find(|model| model.name == name);
        found.ok_or_else(|| Error::parameter("model", name, format!("must be one of {}", names())))
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The size of its published files.
    pub fn bytes(&self) -> usize {
        self.backbone.bytes + self.head.bytes
    }

    /// The address at which its files and their licence are published.
    pub fn source(&self) -> String {
        format!("{PAGES}/models/{} (Apache-2.0: {PAGES}/LICENSE)", self.folder)
    }

    /// Its folder when it is installed.
    ///
    /// # Errors
    /// [`Error::Network`] where there is no place for it.
    pub fn folder(&self) -> Result<PathBuf> {
        let unknown = "the user's data folder is unknown: set this variable to a folder for networks";
        let unknown = || Error::Network { path: "KCF_TRACK_MODELS".into(), reason: unknown.into() };
        Ok(models().ok_or_else(unknown)?.join(self.name))
    }

    /// Whether both files are in a folder, whole and unchanged.
    pub fn is_in(&self, folder: &Path) -> bool {
        let is_whole = |(name, sum): (&str, &Sum)| {
            sum.read(fs::File::open(folder.join(name))).is_ok_and(|data| sum.check(&data).is_ok())
        };
        [("backbone.onnx", &self.free), ("head.onnx", &self.head)].into_iter().all(is_whole)
    }

    /// Puts the model into the user's data folder, unless it is there, and returns its place. The published files come
    /// from the folder or address `from`, by default from their repository. Both are there in the end, or nothing is.
    ///
    /// # Errors
    /// [`Error::Network`] for a file that cannot be fetched or is not the published one, [`Error::Io`] where a file cannot
    /// be read or written.
    pub fn install(&self, from: Option<&str>) -> Result<PathBuf> {
        let folder = self.folder()?;
        if !self.is_in(&folder) {
            let published = format!("{FILES}/models/{}", self.folder);
            self.install_in(&folder, from.unwrap_or(&published))?;
        }
        Ok(folder)
    }

    fn install_in(&self, folder: &Path, from: &str) -> Result<()> {
        let backbone = self.fetch(from, self.files[0], &self.backbone)?;
        let head = self.fetch(from, self.files[1], &self.head)?;
        let backbone = free_size(&backbone).unwrap_or_default();
        let wrong = |reason| Error::Network { path: folder.join("backbone.onnx"), reason };
        self.free.check(&backbone).map_err(wrong)?;
        let source = format!(
            "{}\nbackbone.onnx: {} with height and width of its input made free.\nhead.onnx: {}, unchanged.\n",
            self.source(),
            self.files[0],
            self.files[1]
        );
        let write = || {
            let models = crate::atomic_file::parent(folder);
            fs::create_dir_all(models)?;
            let mut temporary = tempfile::Builder::new();
            temporary.prefix(".kcf-").suffix(".tmp");
            // tempfile's default is 0700; a folder gets the usual permissions.
            #[cfg(unix)]
            temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
            let temporary = temporary.tempdir_in(models)?;
            let files = [("backbone.onnx", &backbone[..]), ("head.onnx", &head), ("SOURCE.txt", source.as_bytes())];
            let recipe = Some(("siamese.toml", self.recipe.as_bytes())).filter(|_| !self.recipe.is_empty());
            files
                .into_iter()
                .chain(recipe)
                .try_for_each(|(name, data)| fs::write(temporary.path().join(name), data))?;
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::rename(temporary.path(), folder)
        };
        write().map_err(|error| Error::io(folder, error))
    }

    /// A published file, checked.
    fn fetch(&self, from: &str, name: &str, sum: &Sum) -> Result<Vec<u8>> {
        if !from.contains("://") {
            let path = Path::new(from).join(name);
            let data = sum.read(fs::File::open(&path)).map_err(|error| Error::io(&path, error))?;
            return sum.check(&data).map_or_else(|reason| Err(Error::Network { path, reason }), |()| Ok(data));
        }
        let address = format!("{}/{name}", from.trim_end_matches('/'));
        let data = download(&address, sum).and_then(|data| sum.check(&data).map(|()| data));
        data.map_err(|reason| {
            let by_hand = format!(
                "without a network, copy {} and {} from {PAGES}/models/{} to a folder and name it by --from (Python: source=)",
                self.files[0], self.files[1], self.folder
            );
            Error::Network { path: address.into(), reason: format!("{reason}; {by_hand}") }
        })
    }
}

impl Sum {
    /// The data of a file, at most a byte more than the expected ones.
    fn read(&self, file: io::Result<impl Read>) -> io::Result<Vec<u8>> {
        let mut data = Vec::with_capacity(self.bytes + 1);
        file?.take(self.bytes as u64 + 1).read_to_end(&mut data)?;
        Ok(data)
    }

    fn check(&self, data: &[u8]) -> Result<(), String> {
        if data.len() != self.bytes {
            let has = if data.len() > self.bytes { "more".to_owned() } else { data.len().to_string() };
            return Err(format!("this is not the published file: it has {has} bytes, not {}", self.bytes));
        }
        let found: String = Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect();
        match found == self.sha256 {
            true => Ok(()),
            false => Err(format!("this is not the published file: its SHA-256 is {found}, not {}", self.sha256)),
        }
    }
}

/// Downloads from an address by `curl`, which takes proxies from the environment and from its own settings.
fn download(address: &str, sum: &Sum) -> Result<Vec<u8>, String> {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--globoff", "--silent", "--show-error"]);
    curl.args(["--connect-timeout", "30", "--speed-time", "30", "--url", address]);
    let curl = curl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut curl = curl.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "curl is needed to fetch it, and is not found in PATH".to_owned(),
        _ => format!("curl: {error}"),
    })?;
    let out = curl.stdout.take().ok_or_else(|| io::Error::other("it has no output"));
    let data = sum.read(out).map_err(|error| format!("curl: {error}"))?;
    let ended = curl.wait_with_output().map_err(|error| format!("curl: {error}"))?;
    // A server that sends more is cut off, and curl then reports an error.
    if ended.status.success() || data.len() > sum.bytes {
        return Ok(data);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(said.trim().lines().last().map_or_else(|| format!("curl: {}", ended.status), str::to_owned))
}

/// The folder of all installed models.
fn models() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || match cfg!(windows) {
        true => set("LOCALAPPDATA"),
        false => set("XDG_DATA_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| set("HOME").map(|home| home.join(".local/share"))),
    };
    set("KCF_TRACK_MODELS").or_else(|| Some(data()?.join("kcf-track").join("models")))
}

/// Completes the model of a search by networks: sets the folder of the newest installed model where there is none, and
/// replaces the name of an installed model by its folder.
///
/// # Errors
/// [`Error::Setting`] where that is not installed.
pub fn fill_in(params: &mut Params) -> Result<()> {
    let path = format!("search.{}.model", params.search.name());
    let Some(model) = params.search.model_mut().filter(|_| cfg!(feature = "neural")) else { return Ok(()) };
    let mut named = MODELS.iter().filter(|known| model.is_empty() || known.name == model).peekable();
    if let Some(Model { name, .. }) = named.peek() {
        let installed = named.filter_map(|model| model.folder().ok()).find(|folder| folder.join("head.onnx").is_file());
        let expected = format!("needs networks: `kcf-track model install {name}`, or a folder of them by --model DIR");
        let installed = installed.ok_or_else(|| Error::setting(&path, model.clone(), expected))?;
        *model = installed.to_string_lossy().into_owned();
    }
    Ok(())
}

/// A network whose input and output may have any height and width: the third and fourth dimension get a name in place
/// of a number, and the sizes of all values in between are left out. `None` for a file that is no such network.
///
/// In terms of `onnx.proto`: `ModelProto.graph` (7) loses `value_info` (13); of `input` (11) and `output` (12), in `type`
/// (2), `tensor_type` (1) and `shape` (2), the `dim`s (1) with the index 2 and 3 become `dim_param` (2) "h" and "w".
fn free_size(model: &[u8]) -> Option<Vec<u8>> {
    const PATH: [&[u64]; 6] = [&[7], &[11, 12], &[2], &[1], &[2], &[1]];
    const DIMENSIONS: [Option<&[u8]>; 4] = [None, None, Some(b"\x12\x01h"), Some(b"\x12\x01w")];
    fn edit(message: &[u8], depth: usize) -> Option<Vec<u8>> {
        let (mut rest, mut edited, mut dimensions) = (message, Vec::with_capacity(message.len() + 8), 0..);
        while !rest.is_empty() {
            let begin = rest;
            let key = number(&mut rest)?;
            let length = match key & 7 {
                0 => number(&mut rest).map(|_| 0)?,
                1 => 8,
                2 => usize::try_from(number(&mut rest)?).ok()?,
                5 => 4,
                _ => return None,
            };
            let (content, after) = rest.split_at_checked(length)?;
            let field = begin.get(..begin.len() - after.len())?;
            rest = after;
            let changed = match (key & 7 == 2 && PATH[depth].contains(&(key >> 3)), depth) {
                (false, 1) if key >> 3 == 13 => continue,
                (false, _) => None,
                (true, 5) => DIMENSIONS.get(dimensions.next()?).copied().flatten().map(<[u8]>::to_vec),
                (true, _) => Some(edit(content, depth + 1)?),
            };
            match changed {
                None => edited.extend_from_slice(field),
                Some(content) => {
                    push_number(&mut edited, key);
                    push_number(&mut edited, content.len() as u64);
                    edited.extend(content);
                }
            }
        }
        Some(edited)
    }
    edit(model, 0)
}

/// The next number of a message, of seven bits a byte.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 127) << shift;
        if *byte < 128 {
            return Some(value);
        }
    }
    None
}

fn push_number(message: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        message.push(value as u8 | 128);
        value >>= 7;
    }
    message.push(value as u8);
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::http::{Request, Response, Server};

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/networks");

    fn sum(data: &[u8]) -> Sum {
        let sha256: String = Sha256::digest(data).iter().map(|byte| format!("{byte:02x}")).collect();
        Sum { bytes: data.len(), sha256: sha256.leak() }
    }

    /// The fixtures, published.
    fn tiny() -> Model {
        let [backbone, head] =
            ["backbone.onnx", "head.onnx"].map(|name| fs::read(Path::new(FIXTURES).join(name)).unwrap());
        Model {
            name: "tiny",
            folder: "tiny",
            files: ["backbone.onnx", "head.onnx"],
            free: sum(&free_size(&backbone).unwrap()),
            backbone: sum(&backbone),
            head: sum(&head),
            recipe: "window = 0.4\n",
        }
    }

    /// The address of a server that listens until the program ends; `answer` makes the body of a file's content.
    fn serve(answer: fn(Vec<u8>) -> Vec<u8>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let handler = move |request: &Request| {
            let name = request.path.strip_prefix("/mirror/").unwrap();
            Response::ok("application/octet-stream", answer(fs::read(Path::new(FIXTURES).join(name)).unwrap()))
        };
        std::mem::forget(Server::start(listener, address, Box::new(handler)).unwrap());
        format!("http://{address}/mirror/")
    }

    #[test]
    fn installs_the_same_from_a_folder_and_from_a_server() {
        let (place, model) = (tempfile::tempdir().unwrap(), tiny());
        for (name, from) in [("folder", FIXTURES.to_owned()), ("server", serve(|data| data))] {
            let folder = place.path().join("new").join(name);
            assert!(!model.is_in(&folder));
            model.install_in(&folder, &from).unwrap();
            assert!(model.is_in(&folder));
            assert_eq!(fs::read(folder.join("siamese.toml")).unwrap(), model.recipe.as_bytes());
            // A damaged file is replaced.
            fs::write(folder.join("head.onnx"), "half").unwrap();
            fs::write(folder.join("other"), "").unwrap();
            assert!(!model.is_in(&folder));
            model.install_in(&folder, &from).unwrap();
            assert!(model.is_in(&folder) && !folder.join("other").exists());
        }
        assert_eq!(fs::read_dir(place.path().join("new")).unwrap().count(), 2, "no temporary folder stays");
    }

    #[test]
    fn what_is_not_the_published_file_installs_nothing() {
        let changed = |mut data: Vec<u8>| {
            data[100] ^= 1;
            data
        };
        let cases = [
            (serve(|data| data[..1000].to_vec()), "it has 1000 bytes, not"),
            (serve(changed), "its SHA-256 is"),
            (serve(|data| data.repeat(100)), "it has more bytes, not"),
            (format!("{FIXTURES}/.."), "backbone.onnx: No such file"),
            (FIXTURES.to_owned(), "its SHA-256 is"),
        ];
        let place = tempfile::tempdir().unwrap();
        for (from, reason) in cases {
            let mut model = tiny();
            if from == FIXTURES {
                model.head.sha256 = model.backbone.sha256;
            }
            let error = model.install_in(&place.path().join("tiny"), &from).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains('\n'), "{error}");
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{from}");
        }
    }

    #[test]
    fn a_failure_of_the_last_step_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        // The system refuses such a name when all files are written.
        let error = tiny().install_in(&place.path().join("x".repeat(1000)), FIXTURES).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    /// A field of a message: its number and its content.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        push_number(&mut field, content.len() as u64);
        [field, content.to_vec()].concat()
    }

    #[test]
    fn height_and_width_become_free() {
        let value = |name: &str, dimensions: [&[u8]; 4]| {
            let shape = dimensions.map(|dimension| field(1, dimension)).concat();
            let tensor = [b"\x08\x01".to_vec(), field(2, &shape)].concat();
            [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
        };
        let weights = field(5, &[7; 300]);
        let model = |graph: &[Vec<u8>]| {
            [b"\x08\x07".to_vec(), field(7, &graph.concat()), b"\x15\x01\x02\x03\x04".to_vec(), field(11, b"set")]
                .concat()
        };
        let published = [b"\x08\x01".as_slice(), b"\x08\x03", b"\x08\xff\x01", b"\x08\xff\x01"];
        let free = [published[0], published[1], b"\x12\x01h", b"\x12\x01w"];
        let before = model(&[
            weights.clone(),
            field(11, &value("input", published)),
            field(13, &value("between", published)),
            field(12, &value("output", published)),
        ]);
        let after = model(&[weights, field(11, &value("input", free)), field(12, &value("output", free))]);
        assert_eq!(free_size(&before), Some(after));
        for end in 0..before.len() {
            assert_ne!(
                free_size(&before[..end]).map(|edited| edited.len()),
                free_size(&before).map(|edited| edited.len())
            );
        }
    }
}
