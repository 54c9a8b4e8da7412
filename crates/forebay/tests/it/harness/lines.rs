//! A child process whose output lines are awaited with a deadline.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use super::{PATIENCE, wait_until};

/// A running program. Killed, by its id, when dropped.
pub(crate) struct Lines {
    child: Child,
    stdout: Receiver<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
}

impl Lines {
    /// Starts `command` with its output captured.
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (sender, stdout) = channel();
        let out = BufReader::new(child.stdout.take().expect("stdout is piped"));
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&stderr);
        let mut err = child.stderr.take().expect("stderr is piped");
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = err.read(&mut chunk) {
                kept.lock().unwrap().extend_from_slice(&chunk[..count]);
            }
        });
        Self {
            child,
            stdout,
            stderr,
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The input of the program, where it was piped.
    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("stdin is piped")
    }

    /// The input of the program, where it was piped; dropping it ends it.
    pub(crate) fn take_stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("stdin is piped")
    }

    /// The next line of output, or `None` at its end.
    #[track_caller]
    pub(crate) fn line(&mut self) -> Option<String> {
        match self.stdout.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!(
                    "no line from process {} in {PATIENCE:?}\n{}",
                    self.id(),
                    self.stderr()
                )
            }
        }
    }

    /// What the program wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    /// Kills the program with SIGKILL and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        // Fails only for a child that was already waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the program to end by itself.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status;
            }
            if began.elapsed() > PATIENCE {
                let text = self.stderr();
                self.kill();
                panic!("process {} did not end in {PATIENCE:?}\n{text}", self.id());
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// Waits for the program to end and for all it wrote to stderr to be there.
    #[track_caller]
    pub(crate) fn outcome(&mut self) -> (ExitStatus, String) {
        let status = self.wait();
        wait_until("the end of stderr", || {
            (Arc::strong_count(&self.stderr) == 1).then_some(())
        });
        (status, self.stderr())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Asks process `id` to end with SIGTERM.
pub(crate) fn end_by_term(id: u32) {
    let done = Command::new("sh")
        .args(["-c", &format!("kill -TERM {id}")])
        .status();
    assert!(
        done.expect("sh runs").success(),
        "process {id} could not be signalled"
    );
}
