import BLEFeatures
import SmartLock
import Testing

/// One command of the lock: what a program calls, and what goes over the air.
struct LockExchange: Sendable, CustomTestStringConvertible {
    let command: MessageCommand
    let isEncrypted: Bool
    /// What is written, in hexadecimal: the whole frame; of an encrypted one what is sealed in it.
    let request: String
    /// The same of the reply.
    let reply: String
    let call: @Sendable (Device) async throws -> Void

    init(
        _ command: MessageCommand, isEncrypted: Bool = false, _ request: String, _ reply: String,
        call: @escaping @Sendable (Device) async throws -> Void
    ) {
        self.command = command
        self.isEncrypted = isEncrypted
        self.request = request
        self.reply = reply
        self.call = call
    }

    var testDescription: String { "\(command) \(request)" }

    static let plain = [
        LockExchange(.setName, "0a010101 00 46726f6e74", "0502010100") {
            try await $0.feature(LockSettings.self).setName("Front")
        },
        LockExchange(.getName, "0501020100", "1302020100 53696d756c61746564204c6f636b") {
            _ = try await $0.feature(LockSettings.self).name()
        },
        LockExchange(.setAutoLock, "0601030100 1e", "0502030100") {
            try await $0.feature(LockSettings.self).setAutoLock(seconds: 30)
        },
        LockExchange(.setAutoLock, "0501030100", "0502030100") {
            try await $0.feature(LockSettings.self).setAutoLock(seconds: nil)
        },
        LockExchange(.getAutoLock, "0501040100", "0502040100") {
            _ = try await $0.feature(LockSettings.self).autoLock()
        },
        LockExchange(.setUserID, "0801050100 616e6e", "0502050100") {
            try await $0.feature(LockSettings.self).setUserID("ann")
        },
        LockExchange(.startNetworkListen, "0501010200", "1602010200 486f6d65 1f 4f6666696365 1f 436166c3a9") {
            _ = try await $0.feature(LockNetwork.self).startListening()
        },
        LockExchange(.stopNetworkListen, "0501020200", "0502020200") {
            try await $0.feature(LockNetwork.self).stopListening()
        },
        LockExchange(.connectToNetwork, "1001040200 486f6d65 1f 736563726574", "0602040200 01") {
            try await $0.feature(LockNetwork.self).join("Home", password: "secret")
        },
        LockExchange(.getLockState, "0501010400", "0602010400 00") {
            _ = try await $0.feature(LockAccess.self).state()
        },
    ]

    static let encrypted = [
        LockExchange(.setDevicePassword, isEncrypted: true, "736573616d65", "") {
            try await $0.feature(LockAccess.self).setPassword("sesame")
        },
        LockExchange(.setLockState, isEncrypted: true, "01", "") {
            try await $0.feature(LockAccess.self).setState(.unlocked)
        },
        LockExchange(.guestUnlock, isEncrypted: true, "70617373", "00") { device in
            do {
                try await device.feature(LockAccess.self).unlockAsGuest(password: "pass")
                Issue.record("the lock has no password")
            } catch LockError.wrongPassword {}
        },
    ]

    static let reset = LockExchange(.reset, isEncrypted: true, "", "") {
        try await $0.feature(LockSettings.self).reset()
    }

    static let pairing = LockExchange(.keyExchange, "", "") { try await $0.feature(LockAccess.self).pair() }
}
