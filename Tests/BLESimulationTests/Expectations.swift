import BLE
import Testing

/// Runs `body` and checks that it throws a `BLEError` of that code, which is returned.
@discardableResult
func expect(
    _ code: BLEError.Code, sourceLocation: SourceLocation = #_sourceLocation, from body: () async throws -> some Any
) async -> BLEError? {
    let error = await #expect(throws: BLEError.self, sourceLocation: sourceLocation) { _ = try await body() }
    #expect(error?.code == code, sourceLocation: sourceLocation)
    return error
}

/// Lets other tasks run until `condition` holds, or the test's time is up.
func until(_ condition: () async -> Bool) async {
    while await !condition(), !Task.isCancelled { await Task.yield() }
}
