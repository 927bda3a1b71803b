import BLETestSupport
import BLEBackendTesting
import BlueZTestSupport
import Testing

/// Several programs on one bluetoothd, on the fake.
@Suite(.startsProcesses, .hangLimit)
struct SharedLinkTests {
    @Test(arguments: SharedLinkContract.allCases) func sharing(_ item: SharedLinkContract) async throws {
        try await item.check(try await FakePeer())
    }
}

/// The same on the real one.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealSharedLinkTests {
    @Test(arguments: SharedLinkContract.allCases) func sharing(_ item: SharedLinkContract) async throws {
        try await item.check(RealPeer())
    }
}
