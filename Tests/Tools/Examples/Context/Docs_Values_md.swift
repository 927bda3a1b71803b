private let presentation: PresentationFormat = given()
