//! One request: sent with its body, also to where a redirect leads, and answered by a body or an error.

use dsh_llm::{LlmError, LlmFailure, code, error_chain};
use reqwest::header::{AUTHORIZATION, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};

use crate::client::Clients;
use crate::config::ProxyUrl;
use crate::endpoint::Endpoint;

/// How often a request is sent on.
const MAX_REDIRECTS: usize = 10;

/// What is sent, the same bytes each time.
pub(crate) struct Exchange<'a> {
    pub(crate) clients: &'a Clients,
    pub(crate) proxy: Option<&'a ProxyUrl>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: bytes::Bytes,
}

impl Exchange<'_> {
    /// Sends it, and gives the answer with the endpoint that answered. A redirect that keeps the body is followed;
    /// the key stays behind when it leads to another server.
    ///
    /// # Errors
    /// There was no answer, or a redirect that cannot be followed.
    pub(crate) async fn send(mut self, mut endpoint: Endpoint) -> Result<(Response, Endpoint), LlmError> {
        let mut redirects = 0;
        loop {
            let client = self.clients.client(&endpoint, self.proxy).await?;
            let request =
                client.post(endpoint.url().clone()).headers(self.headers.clone()).body(self.body.clone());
            let response = request.send().await.map_err(|error| unanswered(&endpoint, error))?;
            let Some(location) = location(&response) else { return Ok((response, endpoint)) };
            let status = response.status();
            let keeps_body =
                matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            let next = endpoint.redirected(&location).filter(|_| keeps_body && redirects < MAX_REDIRECTS);
            let Some(next) = next else { return Err(misled(&endpoint, status, &location)) };
            if !next.is_same_origin(&endpoint) {
                self.headers.remove(AUTHORIZATION);
            }
            redirects += 1;
            endpoint = next;
        }
    }
}

/// Where a redirect leads.
fn location(response: &Response) -> Option<String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| is_redirect)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn misled(endpoint: &Endpoint, status: StatusCode, location: &str) -> LlmError {
    let to = endpoint.redirected(location).map_or_else(|| "elsewhere".to_owned(), |to| format!("to {to}"));
    let message = format!(
        "{endpoint} redirects {to} (HTTP {status}), where a request is not followed: \
         set baseURL or DEEPSEEK_BASE_URL to the server itself"
    );
    refused(format!("HTTP_{}", status.as_u16()), message, status)
}

fn refused(code: String, message: String, status: StatusCode) -> LlmError {
    let mut failure = LlmFailure::new(code.clone(), message.clone());
    failure.status = Some(status.as_u16());
    LlmError::try_from(failure).unwrap_or_else(|_| LlmError::new(code, message))
}

/// Nothing came back that is HTTP.
fn unanswered(endpoint: &Endpoint, error: reqwest::Error) -> LlmError {
    broken("the request to", endpoint, error)
}

/// The body of an answer broke off.
pub(crate) fn interrupted(endpoint: &Endpoint, error: reqwest::Error) -> LlmError {
    broken("the answer of", endpoint, error)
}

fn broken(what: &str, endpoint: &Endpoint, error: reqwest::Error) -> LlmError {
    // Its text would have the URL once more, with the query.
    let error = error.without_url();
    let cause = error_chain(&error);
    let remedy = remedy(&cause, error.is_connect());
    LlmError::new(code::TRANSPORT, format!("{what} {endpoint} failed: {cause}{remedy}")).with_source(error)
}

/// What to do about a cause, where that is known.
fn remedy(cause: &str, is_connect: bool) -> &'static str {
    if cause.contains("invalid peer certificate") {
        return "; if the server is yours, name a file with the certificate of its authority in SSL_CERT_FILE";
    }
    if is_connect { "; check that the server runs, and baseURL or DEEPSEEK_BASE_URL" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_trusted_is_said_with_what_to_do() {
        let cause = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer).to_string();
        assert!(remedy(&cause, true).contains("SSL_CERT_FILE"), "{cause}");
        assert!(remedy("connection refused", true).contains("DEEPSEEK_BASE_URL"));
        assert_eq!(remedy("connection reset", false), "");
    }
}
