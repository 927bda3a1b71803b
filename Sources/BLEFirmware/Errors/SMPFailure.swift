/// A device's answer that it could not perform a request.
///
/// Version 1 of the protocol has one list of codes, and version 2 a list for each group. Version 2 also uses the codes
/// of version 1, for errors of the protocol itself.
public struct SMPFailure: Error, Hashable, Sendable {
    /// The group whose list the code is from. Nil for the list of version 1.
    public let group: SMPGroup?
    /// The code; never 0.
    public let code: Int
    /// The device's explanation, if it sends one.
    public let reason: String?

    /// Creates a failure with a code of the list of version 1.
    public init(_ code: Code, reason: String? = nil) {
        self.init(group: nil, code: code.rawValue, reason: reason)
    }

    /// Creates a failure.
    public init(group: SMPGroup?, code: Int, reason: String? = nil) {
        self.group = group
        self.code = code
        self.reason = reason
    }

    /// The codes of version 1, which are independent of the group (Zephyr, `mcumgr_err_t`).
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code as sent over the air.
        public let rawValue: Int
        /// Creates a code from its number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// An unknown error.
        public static let unknown = Code(rawValue: 1)
        /// There is not enough memory.
        public static let outOfMemory = Code(rawValue: 2)
        /// The request is not valid.
        public static let invalidValue = Code(rawValue: 3)
        /// The operation took too long.
        public static let timedOut = Code(rawValue: 4)
        /// There is no such file or entry.
        public static let notFound = Code(rawValue: 5)
        /// The device's state does not allow the command.
        public static let wrongState = Code(rawValue: 6)
        /// The response would be too long.
        public static let responseTooLong = Code(rawValue: 7)
        /// The device does not support the command.
        public static let notSupported = Code(rawValue: 8)
        /// The data is corrupt.
        public static let corrupt = Code(rawValue: 9)
        /// Another command is being processed.
        public static let busy = Code(rawValue: 10)
        /// Access is denied.
        public static let accessDenied = Code(rawValue: 11)
        /// The version of the protocol is too old for the device.
        public static let versionTooOld = Code(rawValue: 12)
        /// The version of the protocol is too new for the device.
        public static let versionTooNew = Code(rawValue: 13)
    }

    /// Whether the failure has a code of the list of version 1.
    public func isCode(_ code: Code) -> Bool { group == nil && self.code == code.rawValue }

    /// Whether the device may perform the same request later: it is busy, or has not enough memory at the moment.
    var isTemporary: Bool { isCode(.busy) || isCode(.outOfMemory) || group == .image && code == 15 }
}

extension SMPFailure {
    /// The failure in a response's fields. Nil if there is none.
    init?(in fields: CBORMap) {
        if let error = fields["err"]?.map {
            // A response that is not valid is not a success.
            let code = error["rc"]?.integer ?? Code.unknown.rawValue
            guard code != 0 else { return nil }
            let group = error["group"]?.integer.flatMap(UInt16.init(exactly:)).map(SMPGroup.init(rawValue:))
            self.init(group: group, code: code, reason: fields["rsn"]?.text)
        } else if let code = fields["rc"]?.integer, code != 0 {
            self.init(group: nil, code: code, reason: fields["rsn"]?.text)
        } else {
            return nil
        }
    }

    /// The fields of the response that reports the failure.
    func fields(_ version: SMPVersion) -> CBORMap {
        if let group, version >= .two {
            return ["err": .map(["group": CBOR(Int(group.rawValue)), "rc": CBOR(code)])]
        }
        var fields: CBORMap = ["rc": CBOR(group == nil ? code : codeOfVersionOne.rawValue)]
        if let reason { fields["rsn"] = .text(reason) }
        return fields
    }

    /// The code of version 1 for a group's code, as Zephyr translates it, where it is known.
    private var codeOfVersionOne: Code {
        switch (group, code) {
        case (.os?, 2), (.os?, 3), (.shell?, 2): .invalidValue
        case (.image?, 3), (.image?, 9), (.file?, 3), (.file?, 14): .notFound
        case (.image?, 14), (.image?, 20...24), (.file?, 2), (.file?, 4), (.file?, 11), (.file?, 12): .invalidValue
        case (.image?, 30), (.image?, 15): .outOfMemory
        case (.image?, 27), (.image?, 28), (.image?, 32), (.image?, 33): .wrongState
        case (.file?, 13): .notSupported
        default: .unknown
        }
    }
}

extension SMPFailure: CustomStringConvertible {
    /// The meaning of the code, and the device's explanation.
    public var description: String {
        let number = group.map { "error \(code) of group \($0.rawValue)" } ?? "error \(code)"
        let text = meaning.map { "\($0) (\(number))" } ?? number
        return reason.map { "\(text): \($0)" } ?? text
    }

    /// A short description of the code. Nil for a code that is not known.
    public var meaning: String? {
        switch group {
        case nil: Self.general[code]
        case .os?: Self.os[code]
        case .image?: Self.image[code]
        case .file?: Self.file[code]
        case .shell?: Self.shell[code]
        default: nil
        }
    }

    // Zephyr: mcumgr_err_t, os_mgmt_err_code_t, img_mgmt_err_code_t, fs_mgmt_err_code_t, shell_mgmt_err_code_t.
    private static let general = [
        1: "an unknown error", 2: "not enough memory", 3: "invalid value", 4: "the operation took too long",
        5: "no such entry", 6: "not allowed in this state", 7: "the response would be too long",
        8: "the command is not supported", 9: "the data is corrupt", 10: "busy with another command",
        11: "access denied", 12: "the protocol version is too old", 13: "the protocol version is too new",
    ]
    private static let os = [
        1: "an unknown error", 2: "invalid format", 3: "the query has no answer", 4: "the clock is not set",
        5: "the clock failed", 6: "the time is invalid",
    ]
    private static let image = [
        1: "an unknown error", 2: "the flash configuration cannot be read", 3: "no image in the slot",
        4: "the image has no TLVs", 5: "the image has an invalid TLV", 6: "the image has several hashes",
        7: "a TLV has an invalid size", 8: "the image has no hash", 9: "no free slot", 10: "the flash cannot be opened",
        11: "the flash cannot be read", 12: "the flash cannot be written", 13: "the flash cannot be erased",
        14: "invalid slot", 15: "not enough memory", 16: "an upload is open already", 17: "no upload is open",
        18: "no flash device", 19: "invalid page offset", 20: "the offset is missing", 21: "the length is missing",
        22: "the image header is too short", 23: "not a firmware image", 24: "the hash is invalid",
        25: "the image is for another address", 26: "the version cannot be read",
        27: "the current version is newer", 28: "an image is pending already", 29: "invalid vector table",
        30: "the image is too large for the slot", 31: "more data than declared",
        32: "the confirmation was denied", 33: "the active image cannot be tested",
    ]
    private static let file = [
        1: "an unknown error", 2: "invalid file name", 3: "no such file", 4: "a directory, not a file",
        5: "the file cannot be opened", 6: "seeking in the file failed", 7: "reading the file failed",
        8: "truncating the file failed", 9: "deleting the file failed", 10: "writing the file failed",
        11: "invalid offset", 12: "the offset is past the end of the file", 13: "unknown hash or checksum",
        14: "no such mount point", 15: "the file system is read-only", 16: "the file is empty",
    ]
    private static let shell = [1: "an unknown error", 2: "the command is too long", 3: "the command is empty"]
}

extension SMPFailure {
    // The codes that this module's device sends.
    static func image(_ code: Int) -> SMPFailure { SMPFailure(group: .image, code: code) }
    static let noImage = image(3)
    static let flashWriteFailed = image(12)
    static let hashNotFound = image(8)
    static let noFreeSlot = image(9)
    static let invalidSlot = image(14)
    static let offsetMissing = image(20)
    static let lengthMissing = image(21)
    static let invalidImageHeader = image(22)
    static let invalidImageMagic = image(23)
    static let invalidHash = image(24)
    static let currentVersionIsNewer = image(27)
    static let imageAlreadyPending = image(28)
    static let imageTooLarge = image(30)
    static let imageDataOverrun = image(31)
    static let activeImageCannotBeTested = image(33)
    static let invalidFileName = SMPFailure(group: .file, code: 2)
    static let fileNotFound = SMPFailure(group: .file, code: 3)
    static let fileWriteFailed = SMPFailure(group: .file, code: 10)
    static let invalidFileOffset = SMPFailure(group: .file, code: 11)
    static let offsetPastEndOfFile = SMPFailure(group: .file, code: 12)
    static let unknownFileHash = SMPFailure(group: .file, code: 13)
    static let clockNotSet = SMPFailure(group: .os, code: 4)
    static let noAnswerToQuery = SMPFailure(group: .os, code: 3)
    static let emptyCommand = SMPFailure(group: .shell, code: 3)
}
