// Written by page/generate.mjs from docs/openapi.json.

export type Error = {
  error: {
    kind: "bad usage" | "bad input" | "infeasible" | "internal";
    /** What is wrong: a key, a file; may be empty */
    place: string;
    message: string;
    /** What would help; may be empty */
    remedy: string;
  };
};

export type Submission = {
  /** The program, looked up in the environment's PATH, and its arguments */
  command: string[];
  /** The whole environment; each entry is NAME=value */
  environment: string[];
  /** Absolute path of the directory in which the command starts */
  directory: string;
  /** Profile of the instance, such as 2g.10gb */
  profile?: string;
  /** Memory the job needs, in place of a profile */
  memory_mib?: number;
  /** Least number of compute slices; only with a memory size */
  compute_slices?: number;
  /** A model, sized by the program that submits the job */
  model?: {
    name: string;
    memory_mib: number;
  };
  /** Number of whole GPUs with MIG off, in place of a profile or size; the job is one process that sees all of them */
  gpus?: number;
  /** Number of instances of that profile or size, all at a time or none; the job has a process on each */
  instances?: number;
  /** How several instances or GPUs lie: anywhere, on one GPU, on one node, or each on another GPU */
  together?: "anywhere" | "gpu" | "node" | "spread";
  /** Submit a job for each index, such as 1-200, 0-30:10 or 1,3,7-9, and with %20 behind let 20 run at a time; each finds its index in CLEAVE_ARRAY_INDEX, and in place of {index} in the command's words */
  array?: string;
  /** Name of the job; commands accept it while the job is unfinished */
  name?: string;
  /** Jobs of higher priority start first; priorities above the daemon's highest_priority, which is 0 by default, are for operators */
  priority?: number;
  /** Seconds from submission until the job should be done */
  deadline_s?: number;
  /** Seconds for which the job may run; then it is stopped and has failed. The daemon's job_time_default_s if absent; at most its job_time_most_s */
  time_limit_s?: number;
  /** Run it again up to N times if it fails or is lost */
  retries?: number;
  /** The job may be stopped and run again from the beginning, for example on a larger instance before its memory runs out */
  restartable?: boolean;
  /** A replica of the job may take over elsewhere while it runs */
  movable?: boolean;
  /** What the job keeps of its work when it is moved, stopped or lost */
  progress?: "stateless" | "checkpoint" | "none";
  /** Signal sent before the job is stopped in order to be restarted */
  checkpoint_signal?: number;
  /** Shell command that saves the job's work in place of such a signal: it runs as the job's user beside the process $CLEAVE_PID, which is stopped once it has succeeded */
  checkpoint_command?: string;
  /** Shell command that is run in place of the command after a checkpoint command has succeeded */
  restore_command?: string;
  /** Seconds from the checkpoint signal to TERM, or that the checkpoint command may take */
  checkpoint_grace_s?: number;
  /** Seconds from TERM to KILL */
  stop_grace_s?: number;
  /** Exit code with which the job reports that it ran out of memory */
  out_of_memory_code?: number;
  /** Jobs of one application share what is learned about their speed and memory */
  application?: string;
  /** Batch size: sequences or images processed at a time */
  batch?: number;
  /** Expected run time in seconds on the whole GPU under MIG */
  expected_s?: number;
  /** Known run times by profile, in place of the expected one; two of different size give the others by the law of slices */
  times?: StatedTime[];
  /** Launch of the job's largest kernel, beside a memory size or a model: the job asks for the compute slices on which it takes no more time steps than on a whole GPU */
  kernel?: StatedKernel;
  /** CPUs of the host for each process, such as 2 or 0.5; the share that its compute slices are of the node's if absent */
  cpus?: number;
  /** Memory of the host for each process, which ends the job if it needs more; the share that its memory slices are of the node's if absent */
  host_memory_mib?: number;
  /** The job is a service: replicas that run until it is cancelled, and that may be moved */
  service?: {
    /** Number of replicas, each with an instance and a process of its own */
    replicas?: number;
  };
  /** The job is a lease: a place for a person, such as a notebook */
  lease?: {
    /** Seconds from submission in which the lease should start */
    starts_within_s?: number;
    /** Seconds without GPU work after which the lease is idle; never if absent */
    idle_after_s?: number;
    /** What becomes of the lease when it is idle: it ends and gives its instance back, or moves to a smaller one until there is work again */
    then?: "give-back" | "shrink";
    /** Memory that the lease holds while it is idle, of one that shrinks; what it asks for if absent */
    idle_mib?: number;
  };
  /** Run the command in a container of this image: the absolute path of a root file system's folder or of a .sif file, or an image that the user's podman has */
  image?: string;
  /** With an image: a file or folder of the host that is in the container too, as HOST, HOST:INSIDE, or either with :ro for reading only */
  binds?: string[];
  /** Wait until other jobs of yours have ended: ok:12 (it has finished), failed:12 (it has failed, or was cancelled) or any:12; ok:12-40 and any:12-40 for all with these numbers. The job is cancelled if that cannot come any more */
  after?: string[];
  /** Write standard output to this file too, and errors without --error; %j is the job's number, %A that of its array, %a its index, %x its name, %r the number of the attempt, %t that of the process, %% a percent sign */
  output?: string;
  /** The same for standard error */
  error?: string;
};

export type Submissions = {
  /** Each a Submission once what is common has been added; in `after`, ok:#3 is the third of these */
  submissions: Record<string, unknown>[];
  /** What holds for each that does not say it itself */
  common?: Record<string, unknown>;
  /** How many of their jobs may run at a time */
  at_once?: number;
};

export type Place = {
  /** UUID of the GPU */
  gpu: string;
  /** NVML's index of the GPU; -1 if it is not managed now */
  gpu_index: number;
  /** Value of CUDA_VISIBLE_DEVICES: a MIG UUID, or the GPU's UUID if the job has the whole GPU; empty if there is none, and for users who neither operate nor have a job there */
  device: string;
  /** Profile of the instance; empty on a whole GPU and where it is unknown */
  profile: string;
  /** First memory slice of the instance */
  start: number;
};

export type Attempt = {
  /** Number of the attempt */
  attempt: number;
  /** Where it ran */
  instance: Place | null;
  /** When it was decided */
  started_at: string | null;
  /** When its process began */
  began_at: string | null;
  /** When it ended */
  ended_at: string | null;
  /** Why it ended, or is being ended */
  end: "ended-itself" | "out-of-memory" | "early-restart" | "made-room" | "moved" | "cancelled" | "lost" | "not-started" | "gang" | "idle" | "time-limit" | null;
  /** The same in words */
  why: string;
  /** Exit code; 128 + signal if a signal ended it */
  exit_code: number | null;
  /** Most memory that it reported, with the context */
  peak_mib: number | null;
  /** How long it was predicted to run when it began; null where nothing was known */
  predicted_s: number | null;
  /** How that was known, in the words of a job's expected_by */
  predicted_by: "guess" | "model" | "measured-elsewhere" | "measured" | "law" | "declared" | "earlier-reports" | "reports" | null;
  /** How long its process ran; null while it does */
  lasted_s: number | null;
  /** Memory that it was forecast to need, where no GPU here has as much */
  too_large_mib: number | null;
};

export type ListedJob = {
  /** Number of the job */
  id: number;
  /** Name given by the user; may be empty */
  name: string;
  /** Name of the user; may be empty */
  user: string;
  /** Number of the user */
  uid: number;
  /** What the job is doing */
  state: "queued" | "starting" | "running" | "stopping" | "finished" | "failed" | "cancelled";
  /** Why it is in this state, in words; lists explain 10 queued jobs only */
  reason: string;
  /** Exit code of the attempt that ended it */
  exit_code: number | null;
  /** Where it runs now */
  instance: Place | null;
  /** What was asked for, in words */
  asked: string;
  /** What the job asks for now, in words: more, if it has been found to need more */
  asks_now: string;
  /** Its priority */
  priority: number;
  /** Whether it may be stopped and run again */
  restartable: boolean;
  /** Whether it may be moved while it runs */
  movable: boolean;
  /** What it keeps of its work when it is moved, stopped or lost */
  progress: "stateless" | "checkpoint" | "none" | null;
  /** When it should be done */
  deadline_at: string | null;
  /** When it was submitted */
  submitted_at: string | null;
  /** When its latest attempt began */
  started_at: string | null;
  /** When it ended for good */
  ended_at: string | null;
  /** When it is expected to end; null unless it runs and its time is known */
  expected_end_at: string | null;
  /** How that is known: from what the job reports, from what it reported on another profile, from declared times, by the law of slices from two of them, as measured of the application, as measured of it on other profiles, by the trained model, or as a guess from one profile */
  expected_by: "guess" | "model" | "measured-elsewhere" | "measured" | "law" | "declared" | "earlier-reports" | "reports" | null;
  /** Attempts started so far */
  attempts: number;
  /** Restarts in the last day before its memory would have run out */
  early_restarts: number;
  /** Instances or GPUs that it has at a time; of a service, a replica */
  places: number;
  /** What kind of job it is */
  kind: "batch" | "service" | "lease";
  /** Of a service: how many replicas are wanted */
  replicas: number | null;
  /** Of a service: how many replicas run */
  up: number | null;
  /** Of a service: how often its replicas were started again because one had ended */
  restarts: number;
  /** Of a lease that had to wait: by when its place was expected to be free when it came; null where that was not known */
  promised_at: string | null;
  /** Of a lease: whether the driver counts its work; while it does not, the lease is not idle */
  idle_measured: boolean;
  /** Of a lease: since when it has done no GPU work */
  idle_since: string | null;
  /** Most memory that its latest attempt reported, with the context */
  memory_mib: number | null;
  /** Its application, whose jobs have one profile of performance */
  application: string | null;
  /** Profile on which its latest attempt runs or ran; `none`: a whole GPU */
  ran_on: string | null;
  /** Which job of which array; null: it is in none */
  array: ArrayTask | null;
  /** What it waits for, or waited for, as it was submitted: `after` of the answer about the job alone, joined by commas; null: nothing */
  awaited: string | null;
  /** Of the jobs of its request, how many may run at a time; null: all */
  at_once: JobsAtOnce | null;
  /** Joules that it has used of its GPUs, of all attempts and processes (docs/energy.md); null while no counter was read */
  energy_j: number | null;
};

export type Job = {
  /** Number of the job */
  id: number;
  /** Name given by the user; may be empty */
  name: string;
  /** Name of the user; may be empty */
  user: string;
  /** Number of the user */
  uid: number;
  /** What the job is doing */
  state: "queued" | "starting" | "running" | "stopping" | "finished" | "failed" | "cancelled";
  /** Why it is in this state, in words; lists explain 10 queued jobs only */
  reason: string;
  /** Exit code of the attempt that ended it */
  exit_code: number | null;
  /** Where it runs now */
  instance: Place | null;
  /** What was asked for, in words */
  asked: string;
  /** What the job asks for now, in words: more, if it has been found to need more */
  asks_now: string;
  /** Its priority */
  priority: number;
  /** Whether it may be stopped and run again */
  restartable: boolean;
  /** Whether it may be moved while it runs */
  movable: boolean;
  /** What it keeps of its work when it is moved, stopped or lost */
  progress: "stateless" | "checkpoint" | "none" | null;
  /** When it should be done */
  deadline_at: string | null;
  /** Seconds for which it may run; null: no limit */
  time_limit_s: number | null;
  /** The image of its container; null where it runs in none */
  image: string | null;
  /** CPUs of the host that it asked for; null: the share of its slices */
  cpus: number | null;
  /** MiB of the host's memory that it asked for; null: the share of its slices */
  host_memory_mib: number | null;
  /** What it waits for, or waited for, as it was submitted */
  after: string[];
  /** File in which its user wants its standard output, as it was submitted; null where none was named */
  output: string | null;
  /** The same of its standard error */
  error: string | null;
  /** The program and its arguments */
  command: string[];
  /** Where the command starts */
  directory: string;
  /** When it was submitted */
  submitted_at: string | null;
  /** When its latest attempt began */
  started_at: string | null;
  /** When it ended for good */
  ended_at: string | null;
  /** When it is expected to end; null unless it runs and its time is known */
  expected_end_at: string | null;
  /** How that is known: from what the job reports, from what it reported on another profile, from declared times, by the law of slices from two of them, as measured of the application, as measured of it on other profiles, by the trained model, or as a guess from one profile */
  expected_by: "guess" | "model" | "measured-elsewhere" | "measured" | "law" | "declared" | "earlier-reports" | "reports" | null;
  /** Why its instance is as large as it is, in words; null where the scheduler does not say so */
  why_size: string | null;
  /** Attempts started so far */
  attempts: number;
  /** Restarts in the last day before its memory would have run out */
  early_restarts: number;
  /** Instances or GPUs that it has at a time; of a service, a replica */
  places: number;
  /** What kind of job it is */
  kind: "batch" | "service" | "lease";
  /** Of a service: how many replicas are wanted */
  replicas: number | null;
  /** Of a service: how many replicas run */
  up: number | null;
  /** Of a service: how often its replicas were started again because one had ended */
  restarts: number;
  /** Of a lease: what was asked for */
  lease: {
    /** Seconds from submission in which the lease should start */
    starts_within_s: number | null;
    /** Seconds without GPU work after which the lease is idle; never if absent */
    idle_after_s: number | null;
    /** What becomes of the lease when it is idle: it ends and gives its instance back, or moves to a smaller one until there is work again */
    then: "give-back" | "shrink";
    /** Memory that the lease holds while it is idle, of one that shrinks; what it asks for if absent */
    idle_mib: number | null;
  } | null;
  /** Of a lease that had to wait: by when its place was expected to be free when it came; null where that was not known */
  promised_at: string | null;
  /** Of a lease: whether the driver counts its work; while it does not, the lease is not idle */
  idle_measured: boolean;
  /** Of a lease: since when it has done no GPU work */
  idle_since: string | null;
  /** Most memory that its latest attempt reported, with the context */
  memory_mib: number | null;
  /** Its application, whose jobs have one profile of performance */
  application: string | null;
  /** Profile on which its latest attempt runs or ran; `none`: a whole GPU */
  ran_on: string | null;
  /** Which job of which array; null: it is in none */
  array: ArrayTask | null;
  /** What it waits for, or waited for, as it was submitted: `after` of the answer about the job alone, joined by commas; null: nothing */
  awaited: string | null;
  /** Of the jobs of its request, how many may run at a time; null: all */
  at_once: JobsAtOnce | null;
  /** Joules that it has used of its GPUs, of all attempts and processes (docs/energy.md); null while no counter was read */
  energy_j: number | null;
  /** Seconds for which it had an instance or a GPU of which no counter was read, those of all its processes together */
  unmetered_s: number;
  /** Its latest attempts, oldest first; of a job of several places those of its first process */
  history: Attempt[];
  /** Number of older attempts, of which nothing is kept */
  history_left_out: number;
  /** Of a job of several places its processes, of a service its replicas, by rank */
  processes: Process[];
};

export type Jobs = {
  /** Newest first */
  jobs: ListedJob[];
};

export type SubmittedJobs = {
  /** Their numbers, in the order of the submissions, those of arrays too */
  jobs: number[];
};

export type Cancellation = {
  /** Their numbers, each once; of an array those of its jobs */
  jobs: number[];
  /** Kill them at once, also those that are being cancelled already */
  now?: boolean;
};

export type CancelledJobs = {
  /** As they are now, in the order in which they were named */
  jobs: ListedJob[];
  /** Those that there are not, or that are another user's */
  refused: ({
    job: number;
    error: {
      kind: "bad usage" | "bad input" | "infeasible" | "internal";
      /** What is wrong: a key, a file; may be empty */
      place: string;
      message: string;
      /** What would help; may be empty */
      remedy: string;
    };
  })[];
};

export type Instance = {
  /** UUID of the GPU */
  gpu: string;
  /** NVML's index of the GPU; -1 if it is not managed now */
  gpu_index: number;
  /** Value of CUDA_VISIBLE_DEVICES: a MIG UUID, or the GPU's UUID if the job has the whole GPU; empty if there is none, and for users who neither operate nor have a job there */
  device: string;
  /** Profile of the instance; empty on a whole GPU and where it is unknown */
  profile: string;
  /** First memory slice of the instance */
  start: number;
  /** Whether Cleave made it */
  owner: "ours" | "foreign" | "half-made" | "unknown";
  /** Numbers of the jobs that hold it; jobs of other users are left out */
  jobs: number[];
  /** Whether a job has it, of any user */
  held: boolean;
  /** Key of the claim by which another engine has it; empty for users who neither operate nor run programs there; null: there is none */
  claim: string | null;
  /** Who has that claim, for people; for the same users */
  claim_holder: string | null;
  /** Memory in use */
  used_mib: number | null;
  /** Memory of the instance */
  total_mib: number | null;
  /** Joules that jobs have used there since it was made; null where none is known */
  energy_j: number | null;
  /** Share of its SMs' time with work, of all its jobs together, between the last two looks at the GPU; null where no job runs there, where the driver does not count it, as before Hopper, and for users who neither operate nor have a job there */
  activity: number | null;
  /** Numbers of the processes that use it; for those who operate or have a job there */
  processes: number[];
};

export type Instances = {
  instances: Instance[];
};

export type Gpu = {
  /** NVML's index */
  index: number;
  /** UUID */
  uuid: string;
  /** The driver's name of the model */
  model: string;
  /** Whether the daemon manages it */
  managed: boolean;
  /** Whether MIG mode is on */
  mig: boolean;
  /** Whether it takes no new jobs */
  drained: boolean;
  /** Whether the driver has lost it */
  lost: boolean;
  /** What is wrong with it, in words; may be empty */
  trouble: string;
  /** Power drawn now */
  power_w: number | null;
  /** Joules that its counter shows, since its driver was loaded; null where it has none */
  energy_j: number | null;
  /** Its instances: 4g.20gb@0,2g.10gb@4 */
  layout: string;
  /** The same in full, by start */
  instances: Instance[];
  /** For which user or account it is reserved, now or within a day; empty: no job may run there then; null: it is not */
  reserved_for: string | null;
  /** When that reservation begins */
  reserved_from: string | null;
  /** When that reservation ends */
  reserved_until: string | null;
};

export type Gpus = {
  gpus: Gpu[];
};

export type Profiles = {
  profiles: Record<string, unknown>[];
};

export type Event = {
  /** Number of the event; without gaps */
  id: number;
  /** When it happened */
  at: string;
  /** What happened: job-started */
  kind: string;
  /** Number of the job concerned */
  job: number | null;
  /** UUID of the GPU concerned */
  gpu: string | null;
  /** One line for people */
  text: string;
};

export type Events = {
  events: Event[];
};

export type Health = {
  status: "ok" | "degraded" | "starting";
  troubles: string[];
};

export type Status = {
  /** Version of the daemon */
  version: string;
  /** Number of its process */
  pid: number;
  /** The user whose jobs it runs; 0: those of all users */
  uid: number;
  /** When it was started */
  started_at: string;
  /** Whether its GPUs are simulated */
  simulated: boolean;
  /** The scheduler with its options */
  scheduler: string;
  /** The forecaster of memory */
  forecaster: string;
  /** Whether no job is started */
  paused: boolean;
  /** Unfinished jobs by their state */
  jobs: {
    queued: number;
    starting: number;
    running: number;
    stopping: number;
  };
  /** Number of GPUs it manages */
  gpus: number;
  /** How far predicted times were off, of your latest finished jobs; of those of all users for operators */
  predictions: PredictionErrors[];
  /** What is wrong now */
  troubles: string[];
  /** What applies as long as it runs */
  notices: string[];
  /** What keeps jobs apart: control groups, fences of device nodes */
  isolation: string[];
  /** Where it keeps its state */
  state_directory: string;
  /** The client, as the socket tells */
  you: {
    uid: number;
    user: string;
    /** Whether you may do everything */
    operator: boolean;
  };
};

export type Scheduler = {
  /** NAME, or NAME:OPTION=VALUE and further options behind commas; docs/schedulers.md has the options. Some need a fleet that this daemon does not have */
  scheduler: string;
};

export type Paused = {
  paused: boolean;
};

export type Purged = {
  /** Number of jobs that were forgotten, or would be */
  jobs: number;
  /** What they kept on the disk, as far as it has been weighed */
  bytes: number;
  /** Number of ended jobs that could not be forgotten yet */
  left: number;
  dry_run: boolean;
  /** Those jobs; of very many the first 1,000 */
  which: {
    id: number;
    name: string;
  }[];
};

export type StatedTime = {
  /** PROFILE or MODEL:PROFILE; none is the whole GPU without MIG */
  profile: string;
  /** Run time there in seconds */
  time_s: number;
};

export type ArrayTask = {
  /** Number of the array, which is that of its first job */
  job: number;
  /** Index of this job */
  index: number;
  /** How many jobs the array has */
  tasks: number;
  /** How many of them may run at a time; 0: all */
  at_once: number;
  /** Number of its last job */
  last: number;
};

export type PredictionErrors = {
  /** How the times were known; null: all together */
  by: "guess" | "model" | "measured-elsewhere" | "measured" | "law" | "declared" | "earlier-reports" | "reports" | null;
  /** Number of jobs */
  count: number;
  /** Median of |predicted / seen - 1| */
  median_error: number;
  /** Its 90th percentile */
  p90_error: number;
};

export type StatedKernel = {
  /** Blocks in one to three dimensions */
  grid: number[];
  /** Threads of a block in one to three dimensions */
  threads: number[];
  /** Registers of a thread; 0: not known */
  registers?: number;
  /** Shared memory of a block, static and dynamic */
  shared_bytes?: number;
};

export type Process = {
  /** Number of the process in its job, from 0 */
  rank: number;
  /** What the process is doing, or how it ended */
  state: "queued" | "starting" | "running" | "stopping" | "finished" | "failed" | "cancelled";
  /** Whether there is no process, and the GPU is held for the first one, which sees it */
  held: boolean;
  /** Of a replica: how often it was started again because it had ended */
  restarts: number;
  /** When it is started again; null unless it has ended and waits for that */
  starts_again_at: string | null;
  /** Where it runs, or ran last */
  instance: Place | null;
  /** Most memory that its latest attempt reported, with the context */
  memory_mib: number | null;
  /** Exit code of its latest attempt; 128 + signal if a signal ended it */
  exit_code: number | null;
  /** Why its latest attempt ended, in words */
  why: string;
};

export type Plans = {
  plans: Plan[];
};

export type Fleet = {
  /** A fleet file, as docs/formats.md has it */
  fleet: Record<string, unknown>;
  /** The GPUs that take work */
  gpus: FleetGpu[];
  /** The jobs that run on them */
  work: FleetWork[];
  /** How long instances take to be made here, as was seen */
  creates?: ChangeTimes | null;
  /** How long instances take to be destroyed here, as was seen */
  destroys?: ChangeTimes | null;
};

export type PlannedPlace = {
  /** UUID of the GPU; in an order its index too */
  gpu: string;
  /** Profile of the instance */
  profile: string;
  /** First memory slice of the instance */
  start: number;
};

export type PlannedMove = {
  /** Wave in which it moves; waves follow one another */
  wave: number;
  /** Number of the job; of a further replica of a service its own */
  job: number;
  /** Where it runs */
  from: PlannedPlace;
  /** Where it is to run */
  to: PlannedPlace;
  /** What has become of it */
  state?: "open" | "moving" | "done" | "over" | "left";
  /** Why it was left, in words */
  why_not?: string | null;
};

export type PlanOrder = {
  /** What it is for: compact, reconfigure, joint, migrate */
  kind: string;
  /** How long it may take; its places are held for it no longer */
  within_s?: number;
  /** How long it is expected to take; shown beside what it took */
  expected_s?: number;
  /** The moves */
  moves?: PlannedMove[];
};

export type Plan = {
  /** Its number */
  plan: number;
  /** What it is for */
  kind: string;
  /** The operator who had it carried out, or compaction policy */
  by: string;
  /** What it is doing */
  state: "running" | "paused" | "stopping" | "cancelling" | "finished" | "stopped" | "cancelled";
  /** Why it stopped, or is about to, in words */
  why: string | null;
  /** When it began */
  begun_at: string;
  /** When it stops at the latest, and holds no place any more */
  until: string;
  /** How long it was expected to take when it was made */
  expected_s: number | null;
  /** When it ended */
  ended_at: string | null;
  /** Its moves, wave by wave */
  moves: PlannedMove[];
  /** UUIDs of the GPUs that have no job in the end, as predicted */
  frees: string[];
  /** Number of those that had none when it ended */
  freed: number | null;
  /** The job for which the policy of compaction made room, and what it expected */
  purpose: PlanPurpose | null;
  /** Whether that job had its place when the plan had ended */
  served: boolean | null;
};

export type FleetGpu = {
  /** Its name in the fleet */
  name: string;
  /** UUID */
  uuid: string;
};

export type FleetWork = {
  /** Its name in the fleet */
  workload: string;
  /** Number of the job; of a further replica of a service its own */
  job: number;
  /** The same in words */
  what: string;
  /** How it may be moved: not at all, by a replica that takes over, or by saving its work and starting again */
  way: "stays" | "replica" | "checkpoint";
  /** How long it has at most to save its work and end */
  saves_s: number;
  /** How long it takes to start, as its latest start did */
  starts_s: number;
};

export type Usage = {
  /** `jobs`; or `idle`, what GPUs use for themselves and slices that no job had; or `foreign`, instances and processes that are not Cleave's. Only operators who ask for all users see the last two */
  whose: "jobs" | "idle" | "foreign";
  /** Name of the user, or its number */
  user: string | null;
  /** Number of the user */
  uid: number | null;
  /** Group that the jobs ran with */
  account: string | null;
  /** Application that the jobs named; empty where they named none */
  application: string | null;
  /** UUID of the GPU */
  gpu: string | null;
  /** NVML's index of the GPU; -1 if it is not managed now */
  gpu_index: number | null;
  /** Day by UTC: 2026-05-04 */
  day: string | null;
  /** Jobs that ended and had run */
  jobs: number;
  /** Attempts that ended */
  attempts: number;
  /** Attempts that ended with their GPU, instance or supervisor */
  lost: number;
  /** Attempts that ended to go on elsewhere */
  moves: number;
  /** Compute slices times the hours for which they were held */
  slice_hours: number;
  /** The same as parts of whole GPUs */
  gpu_hours: number;
  /** Joules of the GPUs' counters; null where none was read */
  energy_j: number | null;
  /** The same in kWh */
  energy_kwh: number | null;
  /** Of `gpu_hours`, those in which no counter was read: their energy is not in `energy_j` */
  unmetered_gpu_hours: number;
};

export type PlanPurpose = {
  /** Number of the job that is to have the room */
  job: number;
  /** The least number of moves that make room for it, as was proven */
  fewest?: number;
  /** How much shorter its wait was expected to be */
  saved_s?: number;
  /** When it was expected to have its place */
  room_at?: string;
};

export type ChangeTimes = {
  /** Number of the latest changes that count */
  count: number;
  /** Median of how long they took, as a multiple of what the planner's law expects */
  factor: number;
};

export type PageTokenAsk = {
  /** `view` may only look; the default. */
  scope?: "view" | "act";
  /** 8 hours by default. */
  lifetime_s?: number;
  /** Whose it is to be, by name or number; only root names others. */
  user?: string;
};

export type NewPageToken = {
  number: number;
  /** The secret. */
  token: string;
  /** What a browser opens. */
  address: string;
  uid: number;
  user: string;
  scope: "view" | "act";
  expires_at: string;
};

export type PageToken = {
  /** Its number. */
  token: number;
  uid: number;
  user: string;
  scope: "view" | "act";
  made_at: string;
  expires_at: string;
  /** Those that are open. */
  sessions: number;
};

export type PageTokens = {
  tokens: PageToken[];
};

export type RevokedPageToken = {
  token: number;
  sessions: number;
};

export type ClaimAsk = {
  /** Profile of the instances; null: by memory */
  profile?: string | null;
  /** Memory that programs need; the smallest profile that has it is taken */
  memory_mib?: number;
  /** Number of instances; 1 by default */
  count?: number;
  /** Index of the only GPU on which they may be */
  gpu?: number;
  /** The only memory slice at which they may begin */
  start?: number;
};

export type ClaimOrder = {
  /** Who has it, for people */
  holder?: string;
  /** User whose programs run there; the client's by default */
  uid?: number;
  /** What is asked for, all of it or none */
  asks?: ClaimAsk[];
};

export type ClaimInstance = {
  /** Index of its GPU; null: not managed any more */
  gpu: number | null;
  /** UUID of its GPU */
  gpu_uuid: string;
  /** Its profile */
  profile: string;
  /** Its first memory slice */
  start: number;
  /** Its compute slices */
  compute_slices: number;
  /** Its memory slices */
  memory_slices: number;
  /** Memory that programs can use there */
  memory_mib: number | null;
  /** Number of the GPU instance on its GPU; null until it is there */
  gpu_instance: number | null;
  /** Number of its compute instance */
  compute_instance: number | null;
  /** Its MIG UUID; null until it is there */
  uuid: string | null;
  /** Whether it is gone although the claim holds it */
  lost: boolean;
};

export type ClaimEnvironment = {
  /** MIG UUIDs of the instances that are there, with commas */
  CUDA_VISIBLE_DEVICES: string;
};

export type Claim = {
  /** Its holder's name for it */
  key: string;
  /** Who has it, for people */
  holder: string;
  /** User whose programs run there */
  uid: number;
  /** How it stands */
  state: "making" | "held" | "releasing" | "failed" | "released";
  /** Why it failed, or what it waits for, in words */
  why: string | null;
  /** When it was taken */
  since: string | null;
  /** Its instances, in the order of their sizes, the largest first */
  instances: ClaimInstance[];
  /** What programs there are to have in their environment */
  environment: ClaimEnvironment;
};

export type Claims = {
  claims: Claim[];
};

export type RoomGpu = {
  gpu: number;
  uuid: string;
  profiles: Record<string, unknown>;
};

export type Room = {
  gpus: RoomGpu[];
  profiles: Record<string, unknown>;
};

export type JobsAtOnce = {
  /** Number of the first */
  first: number;
  /** Number of the last */
  last: number;
  /** How many of them may run at a time */
  most: number;
};
