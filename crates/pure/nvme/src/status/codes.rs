// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of status codes: constant, SCT, SC, whether a retry may help, the specification's name.

use super::{DNR, Status, sct};

macro_rules! codes {
    ($( $const:ident = $sct:ident $sc:literal $retry:ident $name:literal; )*) => {
        impl Status {
            $(
                #[doc = concat!($name, ".")]
                pub const $const: Self = Self(Self::new(sct::$sct, $sc).0 | codes!(@ $retry));
            )*
        }
        pub(super) const ALL: &[(Status, &str)] = &[ $( (Status::$const, $name), )* ];
    };
    (@ retry) => { 0 };
    (@ final) => { DNR };
}

impl Status {
    /// Command Size Limit Exceeded (NVM): a Copy of more than MSRC, MSSRL or MCL allow. Its number is also Connect
    /// Restart Discovery's; which of the two is meant, the command tells.
    pub const COMMAND_SIZE_LIMIT_EXCEEDED: Self = Self::CONNECT_RESTART_DISCOVERY;
}

codes! {
    // Base, "Generic Command Status Values".
    SUCCESS = GENERIC 0x00 retry "Successful Completion";
    INVALID_OPCODE = GENERIC 0x01 final "Invalid Command Opcode";
    INVALID_FIELD = GENERIC 0x02 final "Invalid Field in Command";
    COMMAND_ID_CONFLICT = GENERIC 0x03 retry "Command ID Conflict";
    DATA_TRANSFER_ERROR = GENERIC 0x04 retry "Data Transfer Error";
    ABORTED_POWER_LOSS = GENERIC 0x05 retry "Commands Aborted due to Power Loss Notification";
    INTERNAL_ERROR = GENERIC 0x06 retry "Internal Error";
    ABORT_REQUESTED = GENERIC 0x07 retry "Command Abort Requested";
    ABORTED_SQ_DELETION = GENERIC 0x08 retry "Command Aborted due to SQ Deletion";
    INVALID_NAMESPACE_OR_FORMAT = GENERIC 0x0B final "Invalid Namespace or Format";
    COMMAND_SEQUENCE_ERROR = GENERIC 0x0C final "Command Sequence Error";
    INVALID_SGL_SEGMENT_DESCRIPTOR = GENERIC 0x0D final "Invalid SGL Segment Descriptor";
    INVALID_SGL_DESCRIPTOR_COUNT = GENERIC 0x0E final "Invalid Number of SGL Descriptors";
    DATA_SGL_LENGTH_INVALID = GENERIC 0x0F final "Data SGL Length Invalid";
    METADATA_SGL_LENGTH_INVALID = GENERIC 0x10 final "Metadata SGL Length Invalid";
    SGL_DESCRIPTOR_TYPE_INVALID = GENERIC 0x11 final "SGL Descriptor Type Invalid";
    PRP_OFFSET_INVALID = GENERIC 0x13 final "PRP Offset Invalid";
    OPERATION_DENIED = GENERIC 0x15 final "Operation Denied";
    SGL_OFFSET_INVALID = GENERIC 0x16 final "SGL Offset Invalid";
    HOST_ID_INCONSISTENT_FORMAT = GENERIC 0x18 final "Host Identifier Inconsistent Format";
    KEEP_ALIVE_TIMER_EXPIRED = GENERIC 0x19 final "Keep Alive Timer Expired";
    KEEP_ALIVE_TIMEOUT_INVALID = GENERIC 0x1A final "Keep Alive Timeout Invalid";
    SANITIZE_FAILED = GENERIC 0x1C final "Sanitize Failed";
    SANITIZE_IN_PROGRESS = GENERIC 0x1D retry "Sanitize In Progress";
    NAMESPACE_WRITE_PROTECTED = GENERIC 0x20 final "Namespace is Write Protected";
    COMMAND_INTERRUPTED = GENERIC 0x21 retry "Command Interrupted";
    TRANSIENT_TRANSPORT_ERROR = GENERIC 0x22 retry "Transient Transport Error";
    ADMIN_MEDIA_NOT_READY = GENERIC 0x24 retry "Admin Command Media Not Ready";
    // NVM and KV, generic codes of the I/O command sets.
    LBA_OUT_OF_RANGE = GENERIC 0x80 final "LBA Out of Range";
    CAPACITY_EXCEEDED = GENERIC 0x81 final "Capacity Exceeded";
    NAMESPACE_NOT_READY = GENERIC 0x82 retry "Namespace Not Ready";
    RESERVATION_CONFLICT = GENERIC 0x83 final "Reservation Conflict";
    FORMAT_IN_PROGRESS = GENERIC 0x84 retry "Format In Progress";
    INVALID_VALUE_SIZE = GENERIC 0x85 final "Invalid Value Size";
    INVALID_KEY_SIZE = GENERIC 0x86 final "Invalid Key Size";
    KEY_DOES_NOT_EXIST = GENERIC 0x87 final "KV Key Does Not Exist";
    UNRECOVERED_ERROR = GENERIC 0x88 final "Unrecovered Error";
    KEY_EXISTS = GENERIC 0x89 final "Key Exists";
    // Base, "Command Specific Status Values".
    CQ_INVALID = COMMAND_SPECIFIC 0x00 final "Completion Queue Invalid";
    INVALID_QUEUE_ID = COMMAND_SPECIFIC 0x01 final "Invalid Queue Identifier";
    INVALID_QUEUE_SIZE = COMMAND_SPECIFIC 0x02 final "Invalid Queue Size";
    ABORT_LIMIT_EXCEEDED = COMMAND_SPECIFIC 0x03 retry "Abort Command Limit Exceeded";
    AER_LIMIT_EXCEEDED = COMMAND_SPECIFIC 0x05 final "Asynchronous Event Request Limit Exceeded";
    INVALID_INTERRUPT_VECTOR = COMMAND_SPECIFIC 0x08 final "Invalid Interrupt Vector";
    INVALID_LOG_PAGE = COMMAND_SPECIFIC 0x09 final "Invalid Log Page";
    INVALID_FORMAT = COMMAND_SPECIFIC 0x0A final "Invalid Format";
    INVALID_QUEUE_DELETION = COMMAND_SPECIFIC 0x0C final "Invalid Queue Deletion";
    FEATURE_NOT_SAVEABLE = COMMAND_SPECIFIC 0x0D final "Feature Identifier Not Saveable";
    FEATURE_NOT_CHANGEABLE = COMMAND_SPECIFIC 0x0E final "Feature Not Changeable";
    FEATURE_NOT_NAMESPACE_SPECIFIC = COMMAND_SPECIFIC 0x0F final "Feature Not Namespace Specific";
    NAMESPACE_ALREADY_ATTACHED = COMMAND_SPECIFIC 0x18 final "Namespace Already Attached";
    NAMESPACE_NOT_ATTACHED = COMMAND_SPECIFIC 0x1A final "Namespace Not Attached";
    COMMAND_SET_NOT_SUPPORTED = COMMAND_SPECIFIC 0x29 final "I/O Command Set Not Supported";
    COMMAND_SET_NOT_ENABLED = COMMAND_SPECIFIC 0x2A final "I/O Command Set Not Enabled";
    COMMAND_SET_COMBINATION_REJECTED = COMMAND_SPECIFIC 0x2B final "I/O Command Set Combination Rejected";
    INVALID_COMMAND_SET = COMMAND_SPECIFIC 0x2C final "Invalid I/O Command Set";
    // Base, Fabrics command status values.
    CONNECT_INCOMPATIBLE_FORMAT = COMMAND_SPECIFIC 0x80 final "Connect Incompatible Format";
    CONNECT_CONTROLLER_BUSY = COMMAND_SPECIFIC 0x81 retry "Connect Controller Busy";
    CONNECT_INVALID_PARAMETERS = COMMAND_SPECIFIC 0x82 final "Connect Invalid Parameters";
    // With Copy: see COMMAND_SIZE_LIMIT_EXCEEDED.
    CONNECT_RESTART_DISCOVERY = COMMAND_SPECIFIC 0x83 final "Connect Restart Discovery, or Command Size Limit Exceeded";
    CONNECT_INVALID_HOST = COMMAND_SPECIFIC 0x84 final "Connect Invalid Host";
    DISCOVERY_RESTART = COMMAND_SPECIFIC 0x90 final "Discovery Restart";
    AUTHENTICATION_REQUIRED = COMMAND_SPECIFIC 0x91 final "Authentication Required";
    // Base, "Media and Data Integrity Error Values"; for the block namespaces.
    WRITE_FAULT = MEDIA 0x80 final "Write Fault";
    UNRECOVERED_READ_ERROR = MEDIA 0x81 final "Unrecovered Read Error";
    COMPARE_FAILURE = MEDIA 0x85 final "Compare Failure";
    // Ours: of transactions.
    PRECONDITION_FAILED = VENDOR 0xC0 final "Transaction Precondition Failed";
    WRITTEN_TWICE = VENDOR 0xC1 final "Transaction Key Written Twice";
    NO_TRANSACTIONS = VENDOR 0xC2 final "Transactions Not Supported by the Engine";
    SEVERAL_SHARDS = VENDOR 0xC3 final "Transaction Spans Several Shards";
    NO_RANGES = VENDOR 0xC4 final "Ranges in Transactions Not Supported by the Engine";
    OUTCOME_UNKNOWN = VENDOR 0xC5 final "Transaction Outcome Unknown";
    NO_SUCH_TRANSACTION = VENDOR 0xC6 final "No Such Transaction";
    WRITES_TOO_LONG = VENDOR 0xC7 final "Transaction Writes More Than a Record Takes";
    // Base, "Path Related Status Values": from 70h on made by the host's side of a transport, never by a controller.
    ASYMMETRIC_ACCESS_INACCESSIBLE = PATH 0x02 retry "Asymmetric Access Inaccessible";
    HOST_PATHING_ERROR = PATH 0x70 retry "Host Pathing Error";
    ABORTED_BY_HOST = PATH 0x71 retry "Command Aborted By Host";
}
