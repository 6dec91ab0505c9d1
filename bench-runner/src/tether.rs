//! Ties a child process to the life of its parent.

use std::process::Command;

/// Makes the child of `command` be killed by the kernel as soon as the *thread* that spawns it ends, in whatever way.
///
/// The spawning thread must therefore live as long as the child is wanted. Elsewhere than on Linux this does nothing.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "there is no safe way to run a system call between fork and exec")]
pub fn tie(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;
    use nix::unistd::{getpid, getppid};

    let parent = getpid();
    // SAFETY: between fork and exec only two system calls are made and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGKILL)?;
            if getppid() == parent {
                return Ok(());
            }
            // The parent died before the tie was made: its signal will never come.
            Err(nix::errno::Errno::ESRCH.into())
        });
    }
}

/// Ties nothing: only Linux can.
#[cfg(not(target_os = "linux"))]
pub fn tie(_command: &mut Command) {}
