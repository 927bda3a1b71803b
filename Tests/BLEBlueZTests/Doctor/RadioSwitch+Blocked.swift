@testable import BLEBlueZ

extension RadioSwitch {
    /// A kill switch by its name, which an adapter's own shares with it.
    init(_ name: String, soft: Bool = false, hard: Bool = false) {
        self.init(id: "rfkill0", name: name, isSoftBlocked: soft, isHardBlocked: hard)
    }
}
